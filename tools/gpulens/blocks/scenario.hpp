// SPDX-License-Identifier: GPL-2.0
// The scenarios of `gpulens-lab probe-kernels`: the kernels to launch, and their streams. A scenario file has the format of
// cuda_scheduling_examiner's configurations (N. Otterness, "Developing Real-Time GPU-Sharing Platforms for
// Artificial-Intelligence Applications", section 3.3.2): each benchmark is a CUDA stream with one kernel, or with
// several (multikernel). docs/blocks.md describes the keys.
#pragma once

#include "gpulens/blocks/plugin.hpp"

#include <bitset>
#include <gpulens/types.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool::blocks {

// Limits for scenario files, so that a typing error neither runs for hours nor writes gigabytes.
constexpr u32 MAX_THREADS = 1024; // of a block; CUDA's own limit since compute capability 2.0
constexpr u32 MAX_BLOCKS = 100000, MAX_KERNELS = 4096, MAX_STREAMS = 1024;
constexpr u64 MAX_SPIN_NS = 60'000'000'000;
constexpr double MAX_RELEASE_S = 600;
constexpr u32 MAX_PROCESSES = 64;

/* -- masks, sm_mask of cuda_scheduling_examiner: the TPCs that a kernel may use -- */

// They number TPCs as libsmctrl does: TPC n has the SMs with %smid / (SMs per TPC) = n.
constexpr u32 MAX_TPCS = 128;         // bits of libsmctrl's widest masks
using TpcSet = std::bitset<MAX_TPCS>; // a set bit: the TPC may be used

// Parses the framework's text: "0x3e" disables TPCs 1 to 5, "~0x3e" all others. As libsmctrl's masks, a mask of up to 16
// digits has 64 bits and one of up to 32 digits has 128; TPCs beyond are disabled. nullopt: another text.
std::optional<TpcSet> parse_sm_mask(const std::string &text);
// Returns the text with "~".
std::string sm_mask_text(const TpcSet &tpcs);

/* -- kernels and streams -- */

enum class Kind {
	Spin,   // each thread reads the GPU's clock until the given time has passed
	Copy,   // copies memory to memory
	Matrix, // multiplies two square matrices of floats, tile by tile
	RandomWalk, // each thread reads 64-bit words, of which each has the index of the next one: all words in one random cycle
	InOrderWalk // the same, where the next one is the neighbour
};

// Where the words of a walk are (Otterness, section 3.5.3.3).
enum class Memory { Device, ZeroCopy, Managed };

struct Kernel {
	std::string name; // unique in the scenario
	Kind kind = Kind::Spin;
	u32 blocks = 1, threads = 32;   // threads: per block
	u32 shared = 0;                 // bytes of shared memory per block, in addition to the kernel's own
	u64 release_ns = 0;             // launch time after the scenario's begin
	u64 work = 0;                   // Spin: ns; Copy and walks: bytes; Matrix: width
	u32 repeat = 1;                 // repetitions of Copy and Matrix; reads of a thread of a walk
	Memory memory = Memory::Device; // of a walk
	std::optional<TpcSet> tpcs{};   // its own mask, of its launch alone
	u64 copy_in = 0, copy_out = 0;  // bytes that its stream copies to the GPU before it, and to the CPU after it
};

// How a stream is ordered with CUDA's legacy default stream, the NULL stream (CUDA Runtime API, "Stream synchronization
// behavior").
enum class StreamKind {
	NonBlocking, // not at all: cudaStreamNonBlocking
	Blocking,    // each waits for what was launched earlier in the other: cudaStreamDefault
	Null         // the NULL stream of the process
};

struct Benchmark { // a CUDA stream
	std::string program, label, log_name;
	int priority = 0;              // CUDA's stream priority: a lower number is a higher priority
	std::vector<Kernel> kernels{}; // of a plugin: what the scenario says that it launches; empty: nothing
	std::optional<Plugin> plugin{};
	std::optional<TpcSet> tpcs{}; // the stream's mask
	u32 iterations = 1;           // its kernels are launched so often; the next time when all have ended
	u64 max_ns = 0;               // no iteration begins later after the first; 0: no limit
	StreamKind stream = StreamKind::NonBlocking; // several may be in the NULL stream
	std::optional<double> mps_percentage{};      // of the threads that MPS lets its process use

	// When its first kernel is launched, or the plugin called, after the scenario's begin.
	u64 release_ns() const { return plugin ? plugin->release_ns : kernels.front().release_ns; }
};

struct Scenario {
	std::string name;
	std::optional<u32> device{};  // CUDA's device number
	std::optional<TpcSet> tpcs{}; // the mask of all launches of a process that no other mask applies to
	bool processes = false;       // each benchmark is a process of its own
	bool threads = false;         // a thread for each benchmark; otherwise one launches those of all in a process
	bool synchronized = false;    // an iteration begins when all benchmarks have ended the previous one
	bool pinned = false, warm_up = false; // of plugins: each has a processor; each runs before measurements begin
	std::vector<Benchmark> benchmarks{};

	// Returns the indices of benchmark and kernel of each launch of the first iteration, by release time, then in the
	// order of the file.
	std::vector<std::pair<u32, u32>> launches() const;
	// Returns the number of kernels.
	u32 kernels() const;
	// Whether a benchmark is in the NULL stream. Otherwise Blocking streams are as NonBlocking ones.
	bool has_null_stream() const;
	// Returns the mask that applies to a kernel, as in libsmctrl: its own, else the stream's, else that of the process.
	// kernel: may be one that only a plugin knows.
	const std::optional<TpcSet> &tpcs_of(u32 benchmark, u32 kernel) const;
};

// A GPU, or the GPU that a simulation assumes.
struct Machine {
	std::string name;
	u32 sms = 0, threads_per_sm = 0, blocks_per_sm = 0; // 0: unknown
	u32 shared_per_block = 0;                           // maximum, bytes; 0: unknown
	u32 channels = 8; // compute channels of a process: CUDA_DEVICE_MAX_CONNECTIONS
	u32 sms_per_tpc = 2;
	u32 copy_engines = 0; // 1: for both directions, more: one for each; 0: unknown
	u32 grids = 0; // kernels that can be on the GPU at once, "resident grids", task slots in RTAS'23; 0: unknown

	double copy_rate = 10; // bytes per ns, assumed by the simulation: no source has one

	u32 tpcs() const { return sms / sms_per_tpc; }
};

// A Jetson TX2's SMs and its copy engine (RTSS'17), and as many grids as newer GPUs have.
inline const Machine TX2{
	.name = "", .sms = 2, .threads_per_sm = 2048, .blocks_per_sm = 32, .copy_engines = 1, .grids = 128};

// Sets sms_per_tpc and grids by the compute capability, 10 * major + minor.
void set_capability(Machine &machine, u32 capability);

// text, name: contents and name of the file. Throws Error (Input).
Scenario parse_scenario(const std::string &text, const std::string &name);
// Returns JSON from which parse_scenario() makes an equal scenario.
nlohmann::ordered_json scenario_json(const Scenario &scenario);
// Checks that a block of each kernel fits on an SM, and that each mask has a TPC. Throws Error (Input).
void check_fits(const Scenario &scenario, const Machine &machine);

// A built-in scenario, which adapts to the GPU's number of SMs: Otterness' figures 3.9 and 3.11 to 3.16, Fig. 5 of RTAS'24,
// Figs. 3, 4, 10, 11, 12 and 14 of RTAS'23, Figs. 5 to 8 of RTSS'17, and the memory
// walks of Otterness' tables 3.1 and 3.2, which cannot be simulated.
struct Builtin {
	const char *name, *description, *expected;
	Scenario (*make)(const Machine &machine);
	Machine simulated = TX2; // the GPU of the figure
	u32 connections = 0;     // CUDA_DEVICE_MAX_CONNECTIONS that it needs; 0: CUDA's default
};
const std::vector<Builtin> &builtins();
// name: of a built-in scenario, which is adapted to the machine, or of a file. Throws Error.
Scenario load_scenario(const std::string &name, const Machine &machine);
// Those of RTAS'23. Their make() throws Error (Input) for a GPU with too few TPCs.
std::vector<Builtin> rtas23_builtins();
std::vector<Builtin> rtss17_builtins();
std::vector<Builtin> walk_builtins();

inline u32 round_up_to_warps(u32 threads)
{
	return (threads + 31) / 32 * 32;
}

// What scenarios are made of: one with a stream for each list of kernels, and a kernel that spins.
Scenario make_scenario(const char *name, const std::vector<std::vector<Kernel>> &kernels_of_streams);
Kernel make_spin(const std::string &name, u32 blocks, u32 threads, u64 ms, u64 release_ms);

} // namespace tool::blocks
