// SPDX-License-Identifier: GPL-2.0
// gpulens run --pitfalls: which calls of CUDA's driver API were in progress while asynchronous calls of other threads waited. The
// preloaded library (preload/call_wrappers.cc) records them (lib/launch/call_log.hpp).
#pragma once
#include "gpulens/cmd/run.hpp"
#include "lib/launch/call_log.hpp"

#include <set>

namespace tool {

// Decision: calls are said to have ended together if their ends differ by so much of their overlap, or less.
constexpr u64 ENDED_TOGETHER_PERCENT = 5;

// A frame of a call site.
struct CallFrame {
	std::string module, function; // path of the object file; empty: unknown
	std::string line{};           // "train.cc:37", of a file with debug information; empty: unknown
	u64 offset = 0;               // address in that file

	bool operator==(const CallFrame &) const = default;
	auto operator<=>(const CallFrame &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
};

// Calls of one function from one place of the program.
struct PitfallRow {
	gpulens::Call call{};
	bool legacy = false; // in the legacy default stream
	CallFrame place{};   // the first frame outside of CUDA's libraries; if none is known, the first of all
	std::vector<CallFrame> frames{}; // from the call on; of the first of the sites that share the place
	std::set<u32> threads{};
	u64 calls = 0, total_ns = 0, longest_ns = 0; // of those that were recorded
	u64 synchronizing = 0; // in the legacy stream while there were streams it synchronizes with
	u32 in_progress = 0;   // had not returned at the end

	// Calls that waited, of one function from one place.
	struct Waiter {
		gpulens::Call call{};
		CallFrame place{};
		u64 count = 0, ns = 0;
	};
	// Asynchronous calls of other threads that took LONG_CALL_NS or more and overlapped in time.
	struct Waits {
		u64 count = 0, ns = 0; // ns: of the overlap
		u64 ended_together = 0;
		u64 alone = 0; // with no call of a third thread that could be meant
		std::set<u32> threads{};
		std::vector<Waiter> waiters{};
	} waits{};
};

struct ProcessPitfalls {
	u32 pid = 0;
	std::string command;
	u32 threads = 0;
	u64 calls = 0, long_calls = 0;
	u64 synchronizing = 0; // calls in the legacy stream beside such streams
	u64 unrecorded = 0, uncounted = 0,
	    unsited = 0; // long calls, calls of threads and call sites that found no room
	u32 most_blocking_streams = 0;
	bool per_thread_stream = false;
	std::vector<PitfallRow> rows{}; // by the time that others waited, then by their own
};

// Something that is known about a row. Measured: in this run. Otherwise a rule of CUDA's documentation.
struct PitfallStatement {
	bool measured;
	std::string text;
};
std::vector<PitfallStatement> state_pitfall(const PitfallRow &row, const ProcessPitfalls &process);
// What the records cannot tell.
std::vector<std::string> pitfall_notes(const std::vector<ProcessPitfalls> &processes);

// Reads the records of a folder, in the order of process ids. now_ns: CLOCK_MONOTONIC, the end of calls that have not returned.
// A file that is no such record is named on standard error.
std::vector<ProcessPitfalls> read_pitfalls(const std::string &folder, u64 now_ns);
std::string pitfalls_text(const std::vector<ProcessPitfalls> &processes);
// docs/pitfalls-schema.json
nlohmann::ordered_json pitfalls_json(const std::vector<std::string> &program,
				     const std::vector<ProcessPitfalls> &processes);

// Runs the program as run_program(), records its calls and prints what was found on standard error; also as JSON where the options
// have a file for it. Throws Error.
int run_for_pitfalls(const RunOptions &options);

} // namespace tool
