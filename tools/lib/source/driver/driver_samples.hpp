// SPDX-License-Identifier: GPL-2.0
// Samples of the graphics engine through NVIDIA's driver, in the form of /proc/gpuX/samples (include/uapi/gpulens.h), so
// that everything that is made of those is made of these. The driver tells the channel that is resident, and no TSG.
#pragma once
#include "lib/rm/client.hpp"
#include "lib/rm/processes.hpp"
#include "lib/rm/run_tsg.hpp"
#include "lib/source/source.hpp"

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace tool {

class DriverSamples : public SampleStream {
public:
	// GPU: its place in PCI order. TSGs on the graphics engine, as far as they are known: their channels are samples of
	// theirs. Throws Error.
	DriverSamples(unsigned gpu, u32 period_us, const std::vector<RunTsg> &tsgs);

	// For so long, or until there is a lot; the first bytes are those of a snapshot with the chip. A question takes
	// some 0.3 ms: ticks that come meanwhile are counted as late.
	std::string_view read(std::chrono::milliseconds time) override;
	// What is known of processes at the end.
	std::string_view finish() override;

private:
	// TSGs: those of this GPU's graphics engine.
	void drop_impossible(std::vector<RunTsg> &tsgs);
	void begin(const rm::Attached &gpu, const std::vector<RunTsg> &tsgs);
	void add_tsgs(std::string &records, const std::vector<RunTsg> &tsgs);
	void tick();
	void ask_owners();
	void tell_owners();
	void tell_owner(u32 channel, u32 pid);

	rm::Client client_;
	rm::Subdevice subdevice_;
	unsigned gpu_;
	u64 period_ns_, due_ = 0;
	std::map<u32, u32> tsg_of_, pid_of_; // by channel
	rm::Owners owners_;
	rm::NoteClock clock_;
	u64 told_ns_ = 0; // when owners were told last
	std::string bytes_;
	bool told_ = false;
};

} // namespace tool
