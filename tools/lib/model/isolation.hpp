// SPDX-License-Identifier: GPL-2.0
// The rules R1 to R8 of J. Bakita and J. H. Anderson, "Demystifying NVIDIA GPU Internals to Enable Reliable GPU
// Management", RTAS 2024, section V, applied to one GPU: which tasks can disturb each other, and which engines a locking
// scheme may treat as independent.
#pragma once
#include "lib/model/model.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

struct Hazard {
	std::string rule;                 // "R8"
	std::string name;                 // stable, for scripts: "grce-shares-pce", "shared-runlist"
	std::string text;                 // one sentence
	std::vector<std::string> engines; // short names
	std::vector<u32> runlists;

	// Returns "R8:grce-shares-pce".
	std::string id() const { return rule + ':' + name; }
};

// The channels of one TSG. TSGs with the same page directory belong to one task, if the source reports it.
struct TaskChannels {
	u32 runlist = 0;
	int tsg = LENS_NONE;
	u32 channels = 0, enabled = 0;
	u64 page_directory = 0; // 0: unknown
};

struct Isolation {
	std::vector<Hazard> hazards; // of the chip, whatever runs; each has at least two engines
	// Sharing by the tasks that are on the runlists now: two address spaces, or two processes, that share a runlist
	// and its engines, or physical copy engines.
	std::vector<Hazard> sharing;
	// What the source does not report, so that hazards or sharing may be missing above; engines may be empty.
	std::vector<Hazard> unknown;
	// Processes that hold an object of MPS, whose clients run at the same time; nothing: the source reports no processes.
	std::optional<std::vector<u32>> mps;
	// Runlists that graphics shares with its copy engines only, which is usual.
	std::vector<std::string> notes;
	std::vector<TaskChannels> tasks;
	// Engines by the lock that they need: engines that share a runlist or a physical copy engine need the same lock.
	std::vector<std::vector<std::string>> locks;
	u32 runlists = 0; // number of runlists that serve an engine
	u32 shared_runlists = 0;
};

Isolation isolation_of(const Gpu &gpu);

// The ids of hazards, sharing and unknown entries that isolation --accept takes, by rule. R7:unknown-engines is not
// among them: without engines nothing can be judged.
extern const std::vector<std::string> HAZARD_IDS;

} // namespace tool
