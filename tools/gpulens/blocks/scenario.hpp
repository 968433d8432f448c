// SPDX-License-Identifier: GPL-2.0
// What `gpulens probe-kernels` launches. A scenario is written as the configurations of cuda_scheduling_examiner are
// (N. Otterness, "Developing Real-Time GPU-Sharing Platforms for Artificial-Intelligence Applications", section 3.3.2):
// each of its benchmarks is a CUDA stream with one kernel, or with several (multikernel). docs/blocks.md has the keys.
#pragma once

#include <gpulens/types.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool::blocks {

// Limits of what a file may ask for: decisions, so that a slip of a digit neither runs for hours nor writes gigabytes.
constexpr u32 MAX_THREADS = 1024; // of a block; CUDA's own limit since compute capability 2.0
constexpr u32 MAX_BLOCKS = 100000, MAX_KERNELS = 4096, MAX_STREAMS = 1024;
constexpr u64 MAX_SPIN_NS = 60'000'000'000;
constexpr double MAX_RELEASE_S = 600;

enum class Kind {
	Spin,  // each thread reads the GPU's clock until so many nanoseconds have gone by
	Copy,  // streams memory to memory
	Matrix // multiplies two square matrices of floats, tile by tile
};

struct Kernel {
	std::string name; // no other of the scenario has it
	Kind kind = Kind::Spin;
	u32 blocks = 1, threads = 32;
	u32 shared = 0; // bytes of shared memory a block, above what the kernel itself wants
	u64 release_ns = 0;
	u64 work = 0;   // nanoseconds; bytes; width of the matrix
	u32 repeat = 1; // how often copy and matrix do it
};

struct Benchmark { // a stream
	std::string program, label, log_name;
	int priority = 0; // as CUDA counts: lower goes first
	std::vector<Kernel> kernels;
};

struct Scenario {
	std::string name;
	std::optional<u32> device; // as CUDA numbers them
	std::vector<Benchmark> benchmarks;

	// Benchmark and kernel of each launch, in order: by release, and as the file has them.
	std::vector<std::pair<u32, u32>> launches() const;
	u32 kernels() const;
};

// The GPU that it runs on, or is to run on.
struct Machine {
	std::string name;
	u32 sms = 0, threads_per_sm = 0, blocks_per_sm = 0; // 0: not known
	u32 shared_per_block = 0;                           // bytes, at most; 0: not known
	u32 channels = 8;                                   // for compute, of a process: CUDA_DEVICE_MAX_CONNECTIONS
};

// name: of the file, for messages. Throws BadInput.
Scenario parse_scenario(const std::string &text, const std::string &name);
// parse_scenario() makes the same of it.
nlohmann::ordered_json scenario_json(const Scenario &scenario);
// Does each kernel fit on this GPU by itself? Throws BadInput.
void check_fits(const Scenario &scenario, const Machine &machine);

// Those of Otterness' figures 3.9 and 3.11 to 3.16, and of Fig. 5 of RTAS'24, on any number of SMs.
struct Builtin {
	const char *name, *what, *expected;
	Scenario (*make)(const Machine &machine);
};
const std::vector<Builtin> &builtins();

} // namespace tool::blocks
