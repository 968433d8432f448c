// SPDX-License-Identifier: GPL-2.0
// Decodes an image with the core: chip, topology, and runlists on request. A part that cannot be decoded becomes a
// Failure; the others are still decoded. from_image.cc converts the result to values, proc_text.cc prints it as the
// module does.
#pragma once
#include "gpulens/bar.h"
#include "gpulens/gpu.h"
#include "gpulens/mmu.h"
#include "lib/base/failure.hpp"
#include "lib/source/image/image.hpp"
#include "lib/source/image/replay.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// A decoded runlist, with the buffers that the core expects from its caller.
class RunlistSnap {
public:
	RunlistSnap(lens_gpu &gpu, const lens_runlist &rl);

	lens_runlist_snap snap{};
	int err;

private:
	void allocate(const lens_gpu &gpu);

	std::vector<u64> entries_; // 8-byte aligned, as copy() requires
	std::vector<u32> state_;
	std::vector<s16> errs_;
	std::vector<lens_context> context_;
	std::unique_ptr<lens_walk_cache> cache_;
};

class Decoder {
public:
	// Identifies the chip and reads the topology.
	explicit Decoder(const Image &image);

	lens_gpu &gpu() { return *gpu_; }
	const Image &image() const { return image_; }
	bool identified() const { return identified_; }
	bool has_topology() const { return identified_ && !topology_err_; }

	// Return why a part of the GPU is missing; empty if it is complete.
	std::vector<Failure> chip_failures() const;
	std::vector<Failure> engine_failures() const;
	std::vector<Failure> gpc_failures() const;
	std::vector<Failure> copy_failures() const;

	// Decodes a runlist, and adds the failures of its channels and contexts. If the result's err is set, only the
	// registers could be read; nullptr: not even those.
	std::unique_ptr<RunlistSnap> runlist(u32 id, std::vector<Failure> &failures);
	struct EngineStatus {
		int err; // negative errno
		lens_engine_status now;
	};

	// Decodes what was on an engine; nothing if the image lacks the registers.
	std::optional<EngineStatus> engine(const lens_engine &engine);
	// Decodes the hardware's own order of TPCs, or its counts of them; without TPCs if the image lacks them, or no context
	// was active.
	lens_tpc_places tpc_places();
	// Returns whether GPCs and TPCs are only counted, and by logical GPC.
	bool has_counts() const { return has_topology() && lens_gpc_has_counts(gpu_.get()); }
	// Decodes the counts; without TPCs, and with the failure, if that is impossible.
	lens_tpc_places counted_places(std::vector<Failure> &failures);
	// Reads a word of CWD_GPC_TPC_ID or CWD_SM_ID (lens_cwd_layout); nothing, with the failure, if it cannot be read.
	std::optional<u32> cwd_word(u32 reg, u32 i, std::vector<Failure> &failures);
	// Decodes BAR1 and BAR2; nullptr, with the failures, if that is impossible.
	std::unique_ptr<lens_bars> bars(std::vector<Failure> &failures);
	// Returns why the memory size is unknown; empty if it is known.
	std::vector<Failure> memory_failures() const;
	// Returns whether there are runlists to read; otherwise adds the reason.
	bool has_runlists(std::vector<Failure> &failures) const;

private:
	std::optional<Part> part_of(uint32_t reg) const;
	void add_failure(std::vector<Failure> &failures, Part part, int err) const;

	const Image &image_;
	Replay replay_;
	std::unique_ptr<lens_gpu> gpu_ = std::make_unique<lens_gpu>();
	bool identified_ = false;
	int identify_err_ = 0, topology_err_ = 0;
	std::vector<Missing> topology_missing_;
};

} // namespace tool
