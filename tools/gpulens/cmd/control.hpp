// SPDX-License-Identifier: GPL-2.0
// The commands that control a GPU: each writes to a file of the module and, on request, undoes it after a while.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

// A command and the file of /proc/gpuX that it writes.
struct Control {
	const char *command; // "disable"
	const char *file;    // "disable_channel"
	const char *target;  // "CHANNEL", "TSG", "RUNLIST"
	bool can_undo;
	bool of_several; // takes --tsg and --pid
};

extern const Control CONTROLS[];
extern const size_t CONTROL_COUNT;

struct ControlOptions {
	std::string id;         // as the module reads it: 5, 0x5 or RUNLIST:5
	std::string tsg;        // of disable and enable, in place of id: all channels of this TSG
	std::optional<u32> pid; // or of this process
	u32 slice_us = 0;       // of timeslice
	bool dry_run = false;
	u64 for_ns = 0; // 0: for good
};

// Writes, or says what it would write. With for_ns: waits so long, or for a signal, and puts back what it changed.
// Several channels: all or none; when one write fails, those before it are put back.
int control(const Options &options, const Control &which, const ControlOptions &how);

// An id as the module reads it from whoever wants no other one.
std::string qualified(const Gpu &gpu, u32 runlist, u32 id);
// Writes to a file of /proc/gpuX at once. 0 or the errno.
int write_control(const std::string &path, const std::string &text);

// Is that an id as the module reads it?
bool is_id(const std::string &text, bool runlist_only);

} // namespace tool
