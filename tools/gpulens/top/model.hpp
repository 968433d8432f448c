// SPDX-License-Identifier: GPL-2.0
// What gpulens top shows: engines and TSGs of a GPU in the last seconds, from samples, or from snapshots if there are
// no samples. Works on values only, in bounded memory: reads no files and no clock. text.hpp formats them.
#pragma once
#include "lib/model/owner.hpp"
#include "lib/timeline/timeline.hpp"

#include <deque>
#include <set>

namespace tool {

struct TopEngine {
	std::string name; // without samples, all engines of the runlist: "GR0 LCE2", "GR0 +2"
	int runlist = LENS_NONE;
	std::string now; // "TSG 3", "TSG 3 (switching)", "idle", "unreadable"
	bool idle = false;
	std::optional<double> on;   // share of the observed time with a TSG on the engine; nothing: not observed yet
	std::optional<double> busy; // share in which the engine reported work; nothing: the source does not report it
	u64 observations = 0;       // samples or snapshots that the shares are from; 0: not counted
};

struct TopTsg {
	int gpu = LENS_NONE; // X of /proc/gpuX
	int runlist = LENS_NONE;
	int id = LENS_NONE;                // TSG id; the channel's id if bare
	bool bare = false;                 // a channel that is in no TSG
	std::string engine;                // where it ran longest; all of its runlist if it has not been seen running
	std::vector<std::string> engines;  // of its runlist
	std::optional<double> share;       // of the observed time on that engine, busy or not; nothing: not observed
	u64 observations = 0;              // samples or snapshots that the share is from; 0: not counted
	std::optional<u64> slot_ns;        // median of the measured slots
	u64 step_ns = 0;                   // time between samples, to which slots are known; 0: exact
	std::optional<double> slots_per_s; // share divided by the mean of the measured slots
	std::optional<u64> slice_ns;       // configured time slice; nothing: the snapshot does not have this TSG
	bool counted = true; // false: the source does not report which channels there are, and in which state
	std::vector<u32> channels;
	u32 running = 0, waiting = 0, off = 0, faulted = 0; // number of channels in that state
	std::optional<Owner> owner;                         // nothing: unknown

	auto key() const { return std::tuple(gpu, runlist, bare, id); }
};

struct Picture {
	std::string title;              // "gpu0: AD102 (Ada), 0000:01:00.0"
	std::string short_title;        // "gpu0 AD102"
	int index = LENS_NONE;          // X of /proc/gpuX
	bool has_runlists = true;       // false: the source reports none
	bool has_owners = false;        // the driver is asked which processes there are
	std::vector<std::string> notes; // what is not known, and what else is: a line each
	bool sampled = false;           // from samples, not from snapshots
	u64 period_ns = 0, step_ns = 0; // sampling period: requested, and median in the window
	u64 ticks = 0, lost = 0;        // in the window: ticks with samples, ticks without
	u64 window_ns = 0;              // observed time, at most the requested window
	u64 snapshots = 0;              // in the window
	std::vector<TopEngine> engines;
	std::vector<TopTsg> tsgs;
};

enum class TopSort { Share, Runlist, Tsg, Waiting };

// Returns the sorted rows that match the filter: the name of an engine, the id, or the owner's pid, name or user contains
// it, ignoring case.
std::vector<TopTsg> arrange(const std::vector<TopTsg> &tsgs, TopSort sort, const std::string &filter);

class TopModel {
public:
	// window_ns: length of the shown time. runlists: ids to show; empty: all.
	explicit TopModel(u64 window_ns, const std::vector<u32> &runlists = {})
		: window_ns_(window_ns), only_(runlists.begin(), runlists.end())
	{
	}

	void add_snapshot(const Gpu &gpu);
	// Takes the next bytes of /proc/gpuX/samples. Throws Error (Source).
	void add_samples(std::string_view bytes);
	// Forgets all samples, for a new sample stream or none.
	void restart_samples();
	Picture make_picture();

private:
	// The number of ticks at a time.
	struct Mark {
		u64 time_ns, ticks;
	};
	using Key = std::tuple<int, bool, int>; // runlist, bare, id
	// The TSGs and channels that ran at a snapshot.
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
	void describe_source(Picture &p) const;

	u64 window_ns_;
	std::set<u32> only_;
	std::optional<Gpu> gpu_;
	std::deque<Seen> seen_;
	TimelineBuilder builder_;
	std::deque<Mark> marks_;
};

} // namespace tool
