// SPDX-License-Identifier: GPL-2.0
// The log of `gpulens-lab probe-kernels`: when and on which SM each block of each kernel ran, measured or simulated. Its
// JSON form has for each stream an object in the format of cuda_scheduling_examiner, whose own files can also be read.
#pragma once
#include "gpulens/blocks/scenario.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tool::blocks {

using s64 = int64_t;

struct Block {
	s64 start = 0, end = 0; // ns since the scenario began, as all times of a log
	u32 sm = 0;             // %smid
};

// A copy between the CPU's memory and the GPU's.
struct Copy {
	u64 bytes = 0;
	std::array<s64, 2> called{}; // before and after the call
	s64 start = 0,
	    end = 0; // start: if measured, when all ahead in the stream has ended; the engine may begin later
};

// A kernel that ran, with its copies.
struct Ran {
	std::string name;
	u32 stream = 0; // index
	u32 iteration = 0;
	u32 threads = 0;              // per block
	u32 shared = 0;               // bytes of shared memory per block
	u32 per_sm = 0;               // number of its blocks that fit on an SM; 0: unknown
	s64 release = 0;              // when it should be launched
	std::optional<TpcSet> tpcs{}; // the mask that applied to it; nothing: none, or unknown
	std::optional<std::array<s64, 3>>
		launched;          // before and after the launch call, and when its stream was found idle
	std::vector<Block> blocks; // never empty
	std::optional<Copy> copy_in{}, copy_out{};

	s64 first_start() const;
	s64 last_start() const;
	s64 last_end() const;
	// Of kernel and copies: the first start and the last end.
	s64 begin() const;
	s64 end() const;
	// Of kernel and copies: before the first call and after the last one. Only if launched.
	std::array<s64, 2> calls() const;
};

// When a plugin's functions were called, and when the last one returned.
struct Calls {
	s64 copy_in = 0, execute = 0, copy_out = 0, end = 0;
};

struct Stream {
	std::string label, log_name, program;
	int priority = 0;
	u32 process = 0; // index
	StreamKind kind = StreamKind::NonBlocking;
	u64 data_size = 0;          // what a plugin was asked for
	std::vector<Calls> calls{}; // by iteration; only of a plugin
};

struct Log {
	std::string scenario;
	bool simulated = false;
	Machine machine;
	bool channels_known = false;        // false: machine.channels is CUDA's default
	u64 uncertainty_ns = 0;             // between launch times (CPU's clock) and block times (GPU's clock)
	std::optional<u64> resolution_ns{}; // step of the GPU's clock
	std::vector<Stream> streams;
	std::vector<Ran> kernels; // in the order of launches

	// Returns the number of processes that the streams are of.
	u32 processes() const;
	// Whether of two benchmarks what is launched later waits for what was launched earlier, because of the NULL stream.
	bool are_ordered(u32 stream, u32 other) const;
	// Whether a kernel's mask, if any, has that SM.
	bool may_use(const Ran &kernel, u32 sm) const;
};

// files: name and text of one log of gpulens, or of one or more logs of the framework. Throws Error (Input).
Log parse_logs(const std::vector<std::pair<std::string, std::string>> &files);
nlohmann::ordered_json log_json(const Log &log);
// Returns a stream in the framework's format.
nlohmann::ordered_json stream_json(const Log &log, u32 stream);

// Returns the log of a scenario that has not run yet: it has its streams and no kernels.
Log empty_log(const Scenario &scenario, const Machine &machine);
// Returns a kernel of an iteration without launch and blocks. base: when the iteration began, relative to the first one.
Ran make_ran(const Scenario &scenario, u32 benchmark, u32 kernel, u32 iteration, s64 base);
// Sorts kernels by launch; of a stream, they keep their order.
void sort_by_launch(std::vector<Ran> &kernels);

} // namespace tool::blocks
