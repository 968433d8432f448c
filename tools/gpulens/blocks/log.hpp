// SPDX-License-Identifier: GPL-2.0
// When each block of each kernel ran, and on which SM: what `gpulens probe-kernels` measured or simulated. As JSON it is
// one object with a log of cuda_scheduling_examiner's in it for each stream; that framework's own files are read too.
#pragma once
#include "gpulens/blocks/scenario.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tool::blocks {

using s64 = int64_t;

struct Block {
	s64 start = 0, end = 0; // nanoseconds since the scenario began, as all times here
	u32 sm = 0;             // %smid
};

struct Ran {
	std::string name;
	u32 stream = 0; // index
	u32 threads = 0, shared = 0;
	u32 per_sm = 0;  // blocks of it that one SM holds; 0: not told
	s64 release = 0; // when it was to be launched
	std::optional<std::array<s64, 3>>
		launched;          // before the call, after it, and when its stream was seen to be done
	std::vector<Block> blocks; // never empty

	s64 first_start() const;
	s64 last_start() const; // of the block that started last
	s64 last_end() const;
};

struct Stream {
	std::string label, log_name, program;
	int priority = 0;
};

struct Log {
	std::string scenario;
	bool simulated = false;
	Machine machine;                    // channels: those of the process
	bool channels_told = false;         // else machine.channels is CUDA's default
	u64 uncertainty_ns = 0;             // between launch times, which are the CPU's, and those of blocks
	std::optional<u64> resolution_ns{}; // of the GPU's clock
	std::vector<Stream> streams;
	std::vector<Ran> kernels; // as they were launched
};

// Files: name and text of each; one of ours, or one or several of the framework. Throws BadInput.
Log parse_logs(const std::vector<std::pair<std::string, std::string>> &files);
nlohmann::ordered_json log_json(const Log &log);
// What the framework would have written of one stream.
nlohmann::ordered_json stream_json(const Log &log, u32 stream);

// A Log of a scenario that has yet to run: streams, and kernels without blocks.
Log empty_log(const Scenario &scenario, const Machine &machine);

} // namespace tool::blocks
