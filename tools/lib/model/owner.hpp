// SPDX-License-Identifier: GPL-2.0
// The process that a TSG or a channel belongs to, and what shows it. No owner: unknown.
#pragma once
#include "lib/base/process_info.hpp"

#include <string>
#include <tuple>

namespace tool {

// What shows that a TSG is a process's. The values are those of recordings (recording.hpp).
enum class Evidence {
	Unknown = 0, // a recording of an older version, which does not say
	Reported =
		1, // the program itself, started by gpulens run: the ids that the driver gave to its TSG and channels
	Resident =
		2, // NVIDIA's driver named the process as active at the times when the TSG was on the graphics engine
	Switched = 3, // NVIDIA's driver names the process with each switch of the context
};
// "reported", "resident", "switched", "unknown"
const char *name_of(Evidence evidence);

struct Owner {
	u32 pid = 0;
	std::string name{};      // comm; empty: unknown
	std::string user{};      // its name, or its number where it has none; empty: unknown
	std::string container{}; // its id, or the beginning of that; empty: in none that is known
	std::string pod{};       // UID of the Kubernetes pod; empty: in none that is known
	Evidence evidence = Evidence::Unknown;
	std::string job{}, step{}; // of Slurm; empty: in none that is known, or a recording

	std::string text() const; // "473 python3"
	bool operator==(const Owner &) const = default;
};

// The owner with what /proc says of that process now.
Owner make_owner(u32 pid, Evidence evidence);

// Names a TSG, or a channel in no TSG (bare), of a GPU.
struct TaskId {
	int runlist = -1;
	bool bare = false;
	int id = -1; // of the TSG; of the channel if bare

	auto operator<=>(const TaskId &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
};

// Whether a bare id is a context's (FIRST_CONTEXT_ID).
bool is_context(bool bare, int id);
// Returns "TSG 5", "channel 16", or "context 52" (recording.hpp).
std::string name_task(bool bare, int id);

} // namespace tool
