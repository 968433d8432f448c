// SPDX-License-Identifier: GPL-2.0
// What CUDA can do to keep work on TPCs of a GPU: launch masks, verified for one program, and the ways to partition. Each is
// tried in a child process, whose CUDA context ends with it.
#pragma once
#include "partition/layout.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpulens {

// A limit whose mask was verified on the GPU.
struct VerifiedLimit {
	std::string pci;                                // the GPU's address
	std::vector<unsigned> tpcs, gpcs;               // ascending
	std::map<std::string, std::string> environment; // for the program
};

// tpcs: text of Layout::parse(). gpu: number in PCI order; without it CUDA's device 0. Throws Error: invalid text, no such
// GPU, or masks that do not mean what they should.
VerifiedLimit verify_limit(std::optional<unsigned> gpu, const std::string &tpcs);

// Whether a way to keep CUDA work on TPCs (partition/work.hpp) works on a GPU.
struct WaySupport {
	const char *name;                // "masks", "green contexts", "green contexts for clusters"
	std::optional<unsigned> granule; // partitions grow by so many TPCs; nothing: it does not work
	std::string why;                 // it does not work
};
// gpu: as above. Throws Error: no such GPU, or no CUDA.
std::vector<WaySupport> probe_ways(std::optional<unsigned> gpu);

} // namespace gpulens
