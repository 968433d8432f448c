// SPDX-License-Identifier: GPL-2.0
// The module's samples, with a record for each task of which it becomes known, or is no longer known, whose it is.
#pragma once
#include "lib/rm/client.hpp"
#include "lib/rm/owner_finder.hpp"
#include "lib/source/joined/joined_source.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace tool {

class JoinedSamples : public SampleStream {
public:
	// device: the GPU's PCI address. Throws Error if the driver cannot be asked about that GPU.
	JoinedSamples(std::unique_ptr<SampleStream> module, const std::string &device, std::shared_ptr<TaskWatch> watch,
		      const SampleOptions &options);

	// Call it without pause, as BackgroundSamples does: the driver is queried meanwhile.
	std::string_view read(std::chrono::milliseconds time) override;
	void finish(std::string &last) override;

private:
	void read_module(std::chrono::milliseconds time);
	bool take_head();
	void take_snapshot(std::string_view bytes);
	void take_sample(const char *bytes);
	void add_changes(bool now);
	void add_owner(const TaskId &id, u32 pid, Evidence evidence);

	std::unique_ptr<SampleStream> module_;
	std::shared_ptr<TaskWatch> watch_;
	rm::Client client_;
	rm::Attached attached_;
	rm::Subdevice subdevice_;
	std::unique_ptr<rm::OwnerFinder> finder_;
	bool finds_owners_;   // samples come often enough
	bool begun_ = false;  // the header is complete
	int graphics_ = -1;   // which of the sampled engines it is; -1: none
	int runlist_ = -1;    // of that engine
	std::string pending_; // of the header, or of a sample
	std::string added_;   // records that follow the next complete bytes
	std::string bytes_;   // what the last call returned
};

} // namespace tool
