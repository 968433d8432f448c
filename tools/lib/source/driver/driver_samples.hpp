// SPDX-License-Identifier: GPL-2.0
// What is on the graphics engine, through NVIDIA's driver, in the format of /proc/gpuX/samples (include/uapi/gpulens.h): each
// context switch where the driver gives its records of them; else, and until the first one, samples of the resident channel.
#pragma once
#include "lib/rm/client.hpp"
#include "lib/rm/context_switches.hpp"
#include "lib/rm/owner_finder.hpp"
#include "lib/rm/run_tsg.hpp"
#include "lib/source/source.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <uapi/gpulens.h>

namespace tool {

class DriverSamples : public SampleStream {
public:
	// gpu: its index in PCI order. tsgs: known TSGs; a sample of one of their channels becomes a sample of the TSG. In the
	// background, samples at long periods have random distances, half a period to one and a half: what repeats with the
	// period is counted rightly, too. The period is for samples only. Throws Error.
	DriverSamples(unsigned gpu, u32 period_us, const std::vector<RunTsg> &tsgs, rm::Search search);

	// Samples for this time or until 256 KiB are collected. The first bytes are a snapshot with the chip. A query
	// takes some 0.3 ms; ticks during a query are recorded as late.
	std::string_view read(std::chrono::milliseconds time) override;
	// Appends the processes that are known at the end.
	void finish(std::string &last) override;

private:
	// tsgs: of this GPU's graphics engine.
	void add_headers(const rm::Attached &gpu, const std::vector<RunTsg> &tsgs);
	void add_tsgs(std::string &records, const std::vector<RunTsg> &tsgs);
	u32 query_resident(rm::ResidentChannel &resident, u64 &time_ns);
	void add_sample();
	void add_switches();
	void add_lost(const rm::ContextSwitch &s);
	gpulens_sample name_context(const rm::ContextSwitch &s);
	u32 process_of(const rm::ContextSwitch &s);
	u64 next_distance_ns();
	void add_owners(bool now);
	void add_owner(u32 channel, u32 pid, Evidence evidence);

	rm::Client client_;
	rm::Subdevice subdevice_;
	unsigned gpu_;
	u64 period_ns_, due_ = 0;
	const bool at_random_; // distances between samples
	std::minstd_rand random_;
	u64 next_look_ns_ = ~u64{0};         // at the resident channel, beside samples, to know owners
	std::map<u32, u32> tsg_of_, claims_; // TSG and last known pid, by channel
	rm::OwnerFinder finder_;
	std::unique_ptr<rm::ContextSwitches> switches_; // null: the driver gives none
	bool bound_ = false, switched_ = false;         // since a period; one came
	gpulens_sample last_{};                         // of a switch
	std::map<u32, std::pair<u32, u32>> pid_of_;  // by context: that the driver names, and the one whose it is, or 0
	std::map<u32, std::vector<RunTsg>> tsgs_of_; // by pid, as claimed
	std::string bytes_;
	bool returned_ = false; // bytes_ were returned by read()
};

} // namespace tool
