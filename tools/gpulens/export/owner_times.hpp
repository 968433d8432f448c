// SPDX-License-Identifier: GPL-2.0
// The time that each process had on each engine, from samples and the owners among them, as metrics.
#pragma once
#include "gpulens/out/metrics.hpp"
#include "lib/model/owner.hpp"
#include "lib/source/joined/join.hpp"
#include "lib/timeline/timeline.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace tool {

class OwnerTimes {
public:
	using Clock = std::chrono::steady_clock;

	// Series of a process that has ended stay so long.
	static constexpr std::chrono::minutes KEEP_ENDED{5};

	// owner: nothing if the samples do not name one; the time is then counted at the next settle().
	void add(const Engine &engine, const Interval &interval, const std::optional<Owner> &owner);
	// Counts the time that waits since the last snapshot: for the owner that both snapshots give to the same TSG or
	// channel, else as unknown. A snapshot with a runlist that could not be read gives no owner of that runlist.
	void settle(const Gpu &snapshot);
	void add_to(Metrics &metrics, const std::string &gpu) const;
	// Ends the series of processes that ended before now - KEEP_ENDED. exists: is there such a process?
	void end_old(Clock::time_point now, bool (*exists)(u32 pid));

private:
	// An owner in a snapshot, and the channels that show that a task is still the same one.
	struct Known {
		Owner owner;
		ChannelSet channels;
	};
	// Pids are used again: by another program or user it is another process. Pid 0: unknown.
	struct ProcessKey {
		u32 pid = 0;
		std::string name{}, user{};
		auto
		operator<=>(const ProcessKey &) const = default; // NOLINT(modernize-use-nullptr): means the 0 in <=>
	};
	struct Process {
		Owner owner;
		bool replaced = false;                    // another process has its pid
		std::optional<Clock::time_point> ended{}; // when it was first seen to be gone
	};

	void count(const std::string &engine, u64 ns, const Owner *owner);

	std::map<std::pair<TaskId, std::string>, u64> waiting_ns_; // by task and engine
	std::map<TaskId, Known> known_;                            // of the last snapshot
	std::map<ProcessKey, Process> processes_;
	std::map<std::pair<std::string, ProcessKey>, u64> on_ns_; // by engine and process
};

} // namespace tool
