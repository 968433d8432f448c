// SPDX-License-Identifier: GPL-2.0
// A GPU decoded from an image by the core: identified, its topology, and runlists when asked for. What cannot be
// decoded becomes a Failure that says which item and why; everything else goes on. from_image.hpp makes values of it,
// proc_text.cc prints it as the module does.
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

// A runlist at one instant, with the room that the core asks its caller for.
class RunlistSnap {
public:
	RunlistSnap(lens_gpu &gpu, const lens_runlist &rl);

	lens_runlist_snap snap{};
	int err;

private:
	void make_room(const lens_gpu &gpu);

	std::vector<u64> entries_; // 8-byte aligned, as copy() wants
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

	// Why a part of the GPU is not there; nothing where it is.
	std::vector<Failure> chip_failures() const;
	std::vector<Failure> engine_failures() const;
	std::vector<Failure> gpc_failures() const;
	std::vector<Failure> copy_failures() const;

	// With the failures of its channels and contexts added to the list. Its err: only its registers could be read;
	// NULL: not even those.
	std::unique_ptr<RunlistSnap> runlist(u32 id, std::vector<Failure> &failures);
	struct EngineStatus {
		int err; // negative errno
		lens_engine_status now;
	};

	// What was on that engine. Nothing: the image does not have the words.
	std::optional<EngineStatus> engine(const lens_engine &engine);
	// bars; nullptr where words are missing or it could not be read, and why.
	std::unique_ptr<lens_bars> bars(std::vector<Failure> &failures);
	// Why the size of memory is not known; nothing where it is.
	std::vector<Failure> memory_failures() const;
	// Are there runlists to read? If not, why.
	bool has_runlists(std::vector<Failure> &failures) const;

private:
	std::optional<Part> part_of(uint32_t reg) const;
	void add(std::vector<Failure> &to, Part part, int err) const;

	const Image &image_;
	Replay replay_;
	std::unique_ptr<lens_gpu> gpu_ = std::make_unique<lens_gpu>();
	bool identified_ = false;
	int identify_err_ = 0, topology_err_ = 0;
	std::vector<Missing> topology_missing_;
};

} // namespace tool
