// SPDX-License-Identifier: GPL-2.0
// gpulens run --tpcs: what an unmodified program needs to stay on some TPCs. Masks are verified in a process of their own,
// whose CUDA context ends with it.
#pragma once
#include "partition/layout.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpulens {

struct Confinement {
	std::string pci;                                // of the GPU
	std::vector<unsigned> tpcs, gpcs;               // ascending
	std::map<std::string, std::string> environment; // for the program
};

// tpcs: what Layout::parse() takes. gpu: its number in PCI order; where none is named, CUDA's device 0. Throws Error: text
// that makes no sense, no such GPU, masks that are not what they are taken for.
Confinement confinement(std::optional<unsigned> gpu, const std::string &tpcs);

// What a way to keep CUDA work on TPCs can do on a GPU (work.hpp): TPCs by which partitions grow, or why it is none there.
struct WayThere {
	const char *name; // "masks", "green contexts", "green contexts for clusters"
	std::optional<unsigned> granule;
	std::string why;
};
// Each in a process of its own. gpu as above. Throws Error where there is no such GPU or no CUDA.
std::vector<WayThere> ways_on(std::optional<unsigned> gpu);

} // namespace gpulens
