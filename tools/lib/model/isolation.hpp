// SPDX-License-Identifier: GPL-2.0
// The rules R1 to R8 of J. Bakita and J. H. Anderson, "Demystifying NVIDIA GPU Internals to Enable Reliable GPU
// Management", RTAS 2024, section V, applied to one GPU: which tasks can disturb each other, and which engines a locking
// scheme may treat as independent.
#pragma once
#include "lib/model/model.hpp"

#include <string>
#include <vector>

namespace tool {

struct Hazard {
	std::string rule;                 // "R8"
	std::string name;                 // stable, for scripts: "grce-shares-pce", "shared-runlist"
	std::string text;                 // one sentence
	std::vector<std::string> engines; // short names, at least two
	std::vector<u32> runlists;
};

// The channels of one TSG. TSGs with the same page directory belong to one task, if the source reports it.
struct TaskChannels {
	u32 runlist = 0;
	int tsg = LENS_NONE;
	u32 channels = 0, enabled = 0;
	u64 page_directory = 0; // 0: unknown
};

struct Isolation {
	std::vector<Hazard> hazards;
	// Runlists that graphics shares with its copy engines only, which is usual.
	std::vector<std::string> notes;
	std::vector<TaskChannels> tasks;
	// Engines by the lock that they need: engines that share a runlist or a physical copy engine need the same lock.
	std::vector<std::vector<std::string>> locks;
	u32 runlists = 0; // number of runlists that serve an engine
	u32 shared_runlists = 0;
};

Isolation isolation_of(const Gpu &gpu);

} // namespace tool
