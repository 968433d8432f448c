// SPDX-License-Identifier: GPL-2.0
// The commands that control a GPU. Each writes to a file of the module and, with --for, undoes the change afterwards.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

// A command and the file of /proc/gpuX that it writes.
struct Control {
	const char *command; // "disable"
	const char *file;    // "disable_channel"; "_preempt_channel" behind the mode
	const char *target;  // "CHANNEL", "TSG", "RUNLIST"
	bool can_undo;
	bool of_several; // takes --tsg and --pid
};

extern const Control CONTROLS[];
extern const size_t CONTROL_COUNT;

// The longest time slice of a runlist's entry: timeout 255, scale 15, in units of 1.024 us (docs/proc.md, tsg_timeslice).
constexpr u32 MAX_SLICE_US = 8556380;

struct ControlOptions {
	std::string id;         // in the module's format: 5, 0x5 or RUNLIST:5
	std::string tsg;        // instead of id: all channels of this TSG
	std::optional<u32> pid; // or all channels of this process
	std::string runlist{};  // or, of preempt, whatever of this runlist is on an engine
	bool yes = false;       // also where that process alone says that they are its own
	u32 slice_us = 0;       // for timeslice
	std::string mode{};     // for preemption: wfi, cta, cil
	bool dry_run = false;
	u64 for_ns = 0; // undo the change after this time; 0: never
};

// Writes, or with dry_run prints what it would write. With for_ns, waits for that time or a signal and then undoes its changes.
// Of several channels, all are written or none: if a write fails, earlier ones are undone (of preemption modes, they stay). Returns the exit status. Throws
// Error.
int run_control(const Options &options, const Control &control, const ControlOptions &control_options);

// Returns the unique id of a TSG or channel in the module's format: RUNLIST:ID where ids count per runlist.
std::string qualified(const Gpu &gpu, u32 runlist, u32 id);

// Returns whether the module would accept the text as an id. runlist_only: RUNLIST:ID is not accepted.
bool is_id(const std::string &text, bool runlist_only);

} // namespace tool
