// SPDX-License-Identifier: GPL-2.0
// A hold lasts until its release, which may come after the task is chosen: until then the task counts as held, so that its
// states never overlap.
#include "gpulens/out/schedule_tracks.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace tool {

namespace {

class TrackBuilder {
public:
	explicit TrackBuilder(const Timeline &t) : t_(t) {}

	ScheduleTracks build()
	{
		for (const ScheduleEvent &e : t_.schedule)
			take(e);
		u64 end = t_.end_ns;
		end_all(end, true);
		return std::move(tracks_);
	}

private:
	struct Open {
		std::optional<u64> chosen, held, job;
		u64 deadline = 0;
		u64 group = 0; // in which it was chosen
	};

	bool is_inside(u64 time) const { return time >= t_.start_ns && time <= t_.end_ns; }

	size_t find_task(const std::string &name)
	{
		auto [at, added] = index_.emplace(name, tracks_.tasks.size());

		if (added) {
			tracks_.tasks.push_back({.name = name});
			open_.emplace_back();
		}
		return at->second;
	}

	void add_mark(std::vector<ScheduleMark> &marks, u64 time, const char *name) const
	{
		if (is_inside(time))
			marks.push_back({time, name});
	}

	// Ends an open span. Returns its length within the recording.
	u64 end_span(std::vector<ScheduleSpan> &spans, std::optional<u64> &start, ScheduleSpan span)
	{
		if (!start)
			return 0;
		span.start_ns = std::max(*start, t_.start_ns);
		span.end_ns = std::min(span.end_ns, t_.end_ns);
		start.reset();
		if (span.start_ns >= span.end_ns)
			return 0;
		spans.push_back(span);
		return span.end_ns - span.start_ns;
	}

	void end_chosen(size_t task, u64 time, bool open = false)
	{
		TaskTrack &track = tracks_.tasks[task];

		// A hold lasts beyond the choice, until it is released: one state at a time.
		if (open_[task].held)
			open_[task].chosen.reset();
		track.chosen_ns +=
			end_span(track.states, open_[task].chosen,
				 {.start_ns = 0, .end_ns = time, .kind = ScheduleSpan::Chosen, .open = open});
	}

	// One task of a group is chosen at a time.
	void end_group(u64 group, u64 time)
	{
		for (size_t i = 0; i < open_.size(); i++)
			if (open_[i].group == group)
				end_chosen(i, time);
	}

	void end_held(size_t task, u64 time, bool open = false)
	{
		TaskTrack &track = tracks_.tasks[task];
		track.held_ns += end_span(track.states, open_[task].held,
					  {.start_ns = 0, .end_ns = time, .kind = ScheduleSpan::Held, .open = open});
		if (open_[task].chosen)
			open_[task].chosen = std::max(*open_[task].chosen, time);
	}

	void end_job(size_t task, u64 time, bool missed, bool open = false)
	{
		TaskTrack &track = tracks_.tasks[task];
		u64 deadline = open_[task].deadline;

		end_span(track.jobs, open_[task].job,
			 {.start_ns = 0,
			  .end_ns = time,
			  .kind = ScheduleSpan::Job,
			  .deadline_ns = deadline,
			  .missed = missed,
			  .open = open});
		if (open)
			return;
		track.ended += is_inside(time);
		if (!missed)
			return;
		track.missed += is_inside(time);
		add_mark(track.marks, time, "missed");
	}

	void end_all(u64 time, bool open)
	{
		for (size_t i = 0; i < open_.size(); i++) {
			end_chosen(i, time, open);
			end_held(i, time, open);
			if (open_[i].job)
				end_job(i, time, false, true);
		}
	}

	void take(const ScheduleEvent &e)
	{
		u64 time = e.time_ns;

		switch (e.step) {
		case ScheduleStep::Policy:
			end_all(time, false);
			tracks_.policy = e.name;
			return add_mark(tracks_.marks, time, "policy begins");
		case ScheduleStep::End: end_all(time, false); return add_mark(tracks_.marks, time, "policy ends");
		case ScheduleStep::LeaseLost: return add_mark(tracks_.marks, time, "lease lost");
		case ScheduleStep::NoneChosen: return end_group(e.value, time);
		default: break;
		}
		size_t i = find_task(e.name);
		TaskTrack &track = tracks_.tasks[i];
		switch (e.step) {
		case ScheduleStep::Chosen:
			end_group(e.value, time);
			open_[i].chosen = time;
			open_[i].group = e.value;
			break;
		case ScheduleStep::Held:
			track.holds += is_inside(time);
			end_chosen(i, time);
			open_[i].held = time;
			break;
		case ScheduleStep::Released: end_held(i, time); break;
		case ScheduleStep::JobBegan:
			open_[i].job = time;
			open_[i].deadline = e.value;
			if (e.value)
				add_mark(track.marks, e.value, "deadline");
			break;
		case ScheduleStep::JobEnded: end_job(i, time, e.value != 0); break;
		case ScheduleStep::BudgetUsed:
			track.budgets += is_inside(time);
			add_mark(track.marks, time, "budget used up");
			break;
		case ScheduleStep::Refused:
			track.refused += is_inside(time);
			add_mark(track.marks, time, "refused");
			break;
		default: break;
		}
	}

	const Timeline &t_;
	ScheduleTracks tracks_;
	std::vector<Open> open_; // by task
	std::map<std::string, size_t> index_;
};

} // namespace

ScheduleTracks schedule_tracks(const Timeline &t)
{
	return TrackBuilder(t).build();
}

std::string schedule_tracks_text(const Timeline &t)
{
	ScheduleTracks tracks = schedule_tracks(t);
	Table table({"<Task", "Chosen", "Held", "Holds", "Jobs", "Missed", "Used up", "Refused"});

	for (const TaskTrack &task : tracks.tasks)
		table.add({task.name, format_duration(task.chosen_ns), format_duration(task.held_ns),
			   std::to_string(task.holds), std::to_string(task.ended), std::to_string(task.missed),
			   std::to_string(task.budgets), std::to_string(task.refused)});
	if (table.empty())
		return "";
	return fmt::format("policy {}{}\n", tracks.policy,
			   t.schedule_missing ? fmt::format(", {} steps are missing", t.schedule_missing) : "") +
	       table.str({});
}

} // namespace tool
