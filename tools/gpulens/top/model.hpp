// SPDX-License-Identifier: GPL-2.0
// What top shows: the last seconds of a GPU as rows, from samples where there are any, or else from snapshots alone.
// Values only, in bounded memory; nothing is read and no clock is asked. Text of it: text.hpp.
#pragma once
#include "lib/timeline/timeline.hpp"

#include <deque>
#include <set>

namespace tool {

struct TopEngine {
	std::string name; // all of its runlist where only snapshots tell what runs
	int runlist = LENS_NONE;
	std::string now; // "TSG 3", "TSG 3 (switching)", "idle", "unreadable"
	bool idle = false;
	std::optional<double> on;   // share of the time seen with a TSG on it; nothing: nothing was seen yet
	std::optional<double> busy; // ... with work, as the engine itself says; snapshots do not tell
};

struct TopTsg {
	int runlist = LENS_NONE;
	int id = LENS_NONE; // or a channel that is in none: bare
	bool bare = false;
	std::string engine;                // where it was longest; all of its runlist until it was seen
	std::vector<std::string> engines;  // of its runlist
	std::optional<double> share;       // of the time seen, on that engine, working or not; nothing: nobody looked
	std::optional<u64> turn_ns;        // median of whole turns
	std::optional<double> turns_per_s; // share over the mean of whole turns
	std::optional<u64> slice_ns;       // as configured; nothing: a snapshot does not know this TSG
	std::vector<u32> channels;
	u32 running = 0, waiting = 0, off = 0, faulted = 0;

	auto key() const { return std::tuple(runlist, bare, id); }
};

struct Picture {
	std::string title; // "gpu0: AD102 (Ada), 0000:01:00.0"
	bool sampled = false;
	u64 period_ns = 0, step_ns = 0; // between samples: asked for, and the median of lately
	u64 ticks = 0, lost = 0;        // in the window
	u64 window_ns = 0;              // what is there of it
	u64 snapshots = 0;              // in the window
	std::vector<TopEngine> engines;
	std::vector<TopTsg> tsgs;
};

enum class TopSort { Share, Runlist, Tsg, Waiting };

// Those of which an engine's name has the filter in it, in any case, or whose id has.
std::vector<TopTsg> arranged(const std::vector<TopTsg> &tsgs, TopSort sort, const std::string &filter);

class TopModel {
public:
	// Without runlists: all of them.
	explicit TopModel(u64 window_ns, const std::vector<u32> &runlists = {})
		: window_ns_(window_ns), only_(runlists.begin(), runlists.end())
	{
	}

	// Its time is the snapshot's.
	void snapshot(const Gpu &gpu);
	// As /proc/gpuX/samples gives them, in pieces. Throws SourceError.
	void samples(std::string_view bytes);
	// Others will come, or none; what was sampled is forgotten.
	void restart_samples();
	Picture picture();

private:
	struct Mark {
		u64 time_ns, ticks;
	};
	using Key = std::tuple<int, bool, int>; // runlist, bare, id
	struct Seen {
		u64 time_ns;
		std::set<Key> running;
	};
	using Rows = std::map<Key, TopTsg>;

	void forget();
	void measure(Picture &p, const Timeline &t) const;
	void from_samples(Picture &p, Rows &rows);
	void from_snapshots(Picture &p, Rows &rows) const;
	Rows rows_of_gpu() const;

	u64 window_ns_;
	std::set<u32> only_;
	std::optional<Gpu> gpu_;
	std::deque<Seen> seen_;
	TimelineBuilder builder_;
	std::deque<Mark> marks_;
};

} // namespace tool
