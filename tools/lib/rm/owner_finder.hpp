// SPDX-License-Identifier: GPL-2.0
// Finds out which processes are on the graphics engine of a GPU while it is sampled: what is on the engine at which time
// comes from the caller, which process was active at which time from the driver's records of context switches where there are
// any, else from its utilisation samples (ChannelOwners).
#pragma once
#include "lib/rm/client.hpp"
#include "lib/rm/context_switches.hpp"
#include "lib/rm/processes.hpp"
#include "lib/rm/util_clock.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tool::rm {

// Tasks on the engine whose processes are unknown, and whether they justify many queries: for 5 s after one was there, and
// for 30 s after a new one was, because a process that is not found until then is seldom found, and each query takes time.
// A task that was not there for more than 30 s is new again.
class UnknownTasks {
public:
	// time_ns: of CLOCK_MONOTONIC, ascending.
	void add(u64 time_ns, u32 key);
	void remove(u32 key) { tasks_.erase(key); }
	bool justify_queries(u64 now_ns) const;

private:
	std::map<u32, u64> tasks_;     // when each was on the engine last
	u64 seen_ns_ = 0, new_ns_ = 0; // when one was on the engine last, and a new one
};

// Samples of processes that are not those which are known, and whether they justify many queries: for 30 s after the first
// one. Then for 120 s none does: where programs take turns quickly, some samples are of a neighbour, and would go on for ever.
class Contradictions {
public:
	// time_ns: of CLOCK_MONOTONIC, ascending.
	void add(u64 time_ns);
	bool justify_queries(u64 now_ns) const;

private:
	std::optional<u64> first_ns_{}; // of those that count
};

// Limits searches for processes: for a minute at once, and for a twentieth of the time after that.
class SearchBudget {
public:
	// Returns whether to search now. wanted: there is something to search for. now_ns: of CLOCK_MONOTONIC, ascending.
	bool allow(bool wanted, u64 now_ns);

private:
	static constexpr u64 MOST_NS = 60000000000, ENOUGH_NS = 30000000000; // enough to find a process that is busy
	static constexpr u64 REST = 20;                                      // time to wait for each time of searching

	u64 left_ns_ = MOST_NS, asked_ns_ = 0; // asked_ns_: when allow() was called last; 0: never
	bool searching_ = false;
};

// Screen: for a while, before a user's eyes. Background: for days, where a process may be found minutes later.
enum class Search { Screen, Background };

class OwnerFinder {
public:
	// A task, by the caller's key, and its process from now on; 0: unknown.
	struct Change {
		u32 key, pid;
	};

	// client and gpu outlive this. max_gap_ns: between two times that are added, where a task that is at both was on the engine
	// in between as well.
	// switches: null: there are none.
	OwnerFinder(Client &client, const Subdevice &gpu, u64 max_gap_ns = 0, Search search = Search::Screen,
		    std::unique_ptr<ContextSwitches> switches = nullptr);

	// Adds what was on the engine at a time of CLOCK_MONOTONIC, ns, ascending; nothing: none, or unknown.
	void add_resident(u64 time_ns, std::optional<u32> key);
	// Returns whether processes are those of switches from now on: there was one.
	bool has_switched() const { return switched_; }
	// Queries the driver's utilisation samples if that is due, which takes 1.2 to 2.6 ms. Call it in time: when samples are
	// expected, queries must follow each other directly.
	void query_if_due();
	// Returns when a query is due, ns of CLOCK_MONOTONIC: every 2 s while unknown tasks or contradictions justify it, and in
	// the background while SearchBudget allows it; else every 8 s, in the background every minute and a second after that.
	u64 next_query_ns() const;
	// Returns what became known since the last call, or is no longer known because the process has ended; at most every
	// two seconds unless now is set, which queries once more.
	std::vector<Change> take_changes(bool now = false);
	// What has this key is another task from now on.
	void forget(u32 key);
	// Returns when the caller should look at the engine next, ns of CLOCK_MONOTONIC, if it samples more seldom than
	// every LOOK_NS: around the times of the utilisation samples; of fewer of these unless unknown tasks justify it.
	u64 next_look_ns(u64 now_ns) const;

	static constexpr u64 LOOK_NS = 400000;

private:
	struct Known {
		u32 pid = 0;
		bool seen = false; // there was such a process: its end can be noticed
	};

	void query();
	bool add_switches();

	Client &client_;
	const Subdevice &gpu_;
	const Search search_;
	ChannelOwners owners_;
	UtilClock clock_;
	std::map<u32, Known> known_; // by key
	u64 changes_taken_ns_;       // when take_changes() looked last
	UnknownTasks unknown_;
	Contradictions contradictions_;
	std::unique_ptr<ContextSwitches> switches_;
	bool switched_ = false;
	u64 switches_read_ns_ = 0;
	ContextSwitch on_{};          // the last one
	std::map<u32, u64> named_ns_; // when each pid was on the engine last that was taken as a sample
	SearchBudget budget_;
	bool calm_ = true;           // nothing is searched for
	u64 look_read_ns_ = ~u64{0}; // when to query what a look after the last query is compared with
};

} // namespace tool::rm
