// SPDX-License-Identifier: GPL-2.0
// The time that each process had on each engine, from samples and the owners among them, as metrics.
#pragma once
#include "gpulens/out/metrics.hpp"
#include "lib/model/owner.hpp"
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

	// owner: nothing if it is unknown whose the TSG is; this time stays "unknown" if that is found out later.
	void add(const Engine &engine, const Interval &interval, const std::optional<Owner> &owner);
	void add_to(Metrics &metrics, const std::string &gpu) const;
	// Ends the series of processes that ended before now - KEEP_ENDED. exists: is there such a process?
	void end_old(Clock::time_point now, bool (*exists)(u32 pid));

private:
	struct Process {
		Owner owner;
		std::optional<Clock::time_point> ended{}; // when it was first seen to be gone
	};

	std::map<u32, Process> processes_;                 // by pid
	std::map<std::pair<std::string, u32>, u64> on_ns_; // by engine and pid, 0: unknown
};

} // namespace tool
