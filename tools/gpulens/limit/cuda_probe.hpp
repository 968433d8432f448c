// SPDX-License-Identifier: GPL-2.0
// Verifies launch masks for a program, and probes the methods of partitioning with CUDA. Each runs in a child process, whose
// CUDA context ends with it.
#pragma once
#include "partition/layout.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpulens {

// A limit whose mask was verified on the GPU.
struct VerifiedLimit {
	std::string pci;                                // the GPU's address
	std::vector<unsigned> tpcs, gpcs;               // ascending
	std::optional<bool> mps;                        // a process uses MPS on this GPU; nothing: unknown
	bool under_mps = false;                         // programs started from here use it
	std::map<std::string, std::string> environment; // for the program
	bool masked = true;                             // false: the whole GPU
};

// tpcs: text of Layout::parse(). gpu: number in PCI order; without it CUDA's device 0. Throws Error: invalid text, no such
// GPU, or masks that have no effect or another one.
VerifiedLimit verify_limit(std::optional<unsigned> gpu, const std::string &tpcs);

// The whole GPU of this number in PCI order, to choose it for a program: without a mask, and tpcs and gpcs are empty. Throws
// Error: no such GPU, or no CUDA.
VerifiedLimit whole_gpu(unsigned gpu);

// Limits of one GPU that were verified together.
struct VerifiedLimits {
	unsigned tpcs = 0;                 // of the GPU
	std::vector<VerifiedLimit> limits; // in the order of the masks, at least one
};
// choose: returns the masks, in a child process. Throws Error as above, and that of choose.
VerifiedLimits verify_limits(std::optional<unsigned> gpu,
			     const std::function<std::vector<TpcMask>(const Layout &)> &choose);

// NVIDIA, Multi-Process Service: the folder of the daemon's pipes. A program that finds no daemon there uses the GPU without MPS.
constexpr char MPS_PIPES[] = "CUDA_MPS_PIPE_DIRECTORY";
// Throws Error: Unsupported where programs that use CUDA's device 0 are not under MPS; no GPU, or no CUDA.
void require_mps();
// Throws Error (Failed), with the option that wants it, where programs of that limit are not.
void require_mps(const VerifiedLimit &limit, const char *option);

// Whether a method of partitioning (partition/work.hpp) works on a GPU.
struct MethodSupport {
	const char *name;                    // "masks", "green contexts", "green contexts for clusters"
	std::optional<unsigned> granularity; // partitions consist of groups of this many TPCs; nothing: unsupported
	std::string reason;                  // why it is unsupported
	std::string evidence;                // how it is known to work; empty: CUDA supports it
};
// gpu: as above. Throws Error: no such GPU, or no CUDA.
std::vector<MethodSupport> probe_methods(std::optional<unsigned> gpu);

} // namespace gpulens
