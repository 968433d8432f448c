// SPDX-License-Identifier: GPL-2.0
// Releases come before holds, so that the GPU is not idle in between. If one job follows another within a look, the new one
// is added to the scheduler before the old one ends, so that the tenant keeps its place.
#include "lib/schedule/coordinator.hpp"

#include <algorithm>

namespace tool::schedule {

namespace {

constexpr u64 KEPT_NS = 200000000; // later, no back end tells a turn

size_t count_groups(const std::vector<Task> &tasks)
{
	u32 last = 0;

	for (const Task &t : tasks)
		last = std::max(last, t.group);
	return size_t{last} + 1;
}

} // namespace

Coordinator::Coordinator(Backend &backend, Policy policy, const std::vector<Task> &tasks, u64 quantum_ns)
	: backend_(backend), schedulers_(count_groups(tasks), Scheduler(policy, tasks, quantum_ns)),
	  quantum_ns_(quantum_ns), states_(tasks.size()), chosen_(schedulers_.size(), NO_TASK)
{
}

void Coordinator::note_begin(size_t task, const TaskState &seen, u64 now)
{
	State &s = states_[task];
	u64 relative = tasks()[task].relative_deadline();

	s.job = seen.job;
	s.arrival = seen.began ? std::clamp(seen.began, std::min(last_look_, now), now) : now;
	s.deadline = seen.deadline ? seen.deadline : relative ? s.arrival + relative : NEVER;
}

void Coordinator::note_end(size_t task, const TaskState &seen, u64 now)
{
	State &s = states_[task];

	s.ended = seen.ended ? std::clamp(seen.ended, s.arrival, now) : now;
	s.counts.jobs++;
	s.counts.missed += s.ended > s.deadline;
	s.counts.worst_ns = std::max(s.counts.worst_ns, s.ended - s.arrival);
}

void Coordinator::note_events(const std::vector<TaskState> &seen, u64 now)
{
	for (size_t i = 0; i < states_.size(); i++) {
		State &s = states_[i];
		bool ready = seen[i].present && seen[i].ready;
		bool another = s.ready && ready && seen[i].job != s.job;
		bool begins = ready && (!s.ready || another), ends = s.ready && (!ready || another);
		if (!seen[i].present)
			s.held = false;
		if (begins)
			scheduler_of(i).add_job(i, now, seen[i].deadline);
		if (ends) {
			scheduler_of(i).end_job(i, now);
			note_end(i, seen[i], now);
		}
		if (begins)
			note_begin(i, seen[i], now);
		s.ready = ready;
	}
	last_look_ = now;
}

void Coordinator::note_exposure(size_t task, u64 time)
{
	State &s = states_[task];
	bool exposed = !s.exposures.empty() && s.exposures.back().end == NEVER;
	int before = exposed ? s.exposures.back().chosen : NOBODY;
	int now = s.ready && !s.held && !is_chosen(task) ? chosen(tasks()[task].group) : NOBODY;

	if (now == before)
		return;
	if (exposed)
		s.exposures.back().end = time;
	if (now != NOBODY)
		s.exposures.push_back({now, time, NEVER});
}

// A hold has its effect some time after the decision, and short time slices yield without one. Who had the GPU meanwhile is
// charged, so that budgets and shares are those of the GPU's time.
void Coordinator::correct_charges(u64 now)
{
	for (const TaskTurn &turn : backend_.take_turns())
		for (const Exposure &e : states_[turn.task].exposures) {
			u64 begin = std::max(turn.begin, e.begin), end = std::min(turn.end, e.end);
			if (begin >= end)
				continue;
			scheduler_of(turn.task).move_charge(e.chosen, turn.task, end - begin);
			states_[turn.task].counts.overran_ns += end - begin;
		}
	for (State &s : states_)
		while (!s.exposures.empty() && s.exposures.front().end < now - std::min(now, KEPT_NS))
			s.exposures.pop_front();
}

// Returns whether the hardware's turns give the chosen task nearly all the time without a hold. A best-effort task is chosen
// for a share of time, which the other's turns would change; a hard server that waits has no turns.
bool Coordinator::yields_by_slice(const std::vector<TaskState> &seen, size_t task) const
{
	const Scheduler &s = scheduler(task);
	int other = chosen(tasks()[task].group);

	if (other == NO_TASK || s.throttled(task) || !s.real_time(static_cast<size_t>(other)))
		return false;
	u64 least = seen[static_cast<size_t>(other)].least_slice_us, most = seen[task].most_slice_us;
	return most && most <= LONGEST_YIELD_US && least >= most * YIELD_RATIO;
}

template <typename Request> Answer Coordinator::time_request(Cost &longest, Request request)
{
	u64 start = backend_.now();
	Answer answer = request();

	if (u64 took = backend_.now() - start; took > longest.took_ns)
		longest = {took, answer.driver_ns};
	return answer;
}

void Coordinator::hold_task(size_t task, u64 now)
{
	State &s = states_[task];

	bool before = s.held;

	if (!s.held)
		s.held_since = now;
	Answer answer = time_request(s.counts.longest_hold, [&] { return backend_.hold(task); });
	s.held = answer.outcome == Outcome::Done;
	if (s.held != before)
		s.held_changed = backend_.now();
	note_exposure(task, s.held_changed);
	if (s.held) {
		s.counts.holds++;
		return;
	}
	s.counts.refused++;
	s.free_until = now + quantum_ns_; // not tried at each look
}

void Coordinator::release_task(size_t task)
{
	State &s = states_[task];
	Answer answer = time_request(s.counts.longest_release, [&] { return backend_.release(task); });

	if (answer.outcome == Outcome::Done) {
		s.held = false;
		s.held_changed = backend_.now();
		s.counts.releases++;
		note_exposure(task, s.held_changed);
	} else {
		s.counts.refused++; // tried again at the next decision
	}
}

u64 Coordinator::run_once()
{
	u64 look = backend_.now();

	if (!backend_.extend_lease()) {
		lost_leases_++;
		lost_at_ = std::min(look, extended_ + backend_.lease_ns());
		for (State &s : states_)
			s.held = false;
	}
	extended_ = look;
	std::vector<TaskState> seen = backend_.account();
	u64 now = backend_.now();
	note_events(seen, now);
	correct_charges(now);
	u64 wake = NEVER;
	for (size_t group = 0; group < schedulers_.size(); group++) {
		Decision d = schedulers_[group].choose(now);
		chosen_[group] = d.task;
		wake = std::min(wake, d.wake);
	}
	for (size_t i = 0; i < states_.size(); i++)
		note_exposure(i, now);

	auto wants_hold = [&](size_t i) {
		const State &s = states_[i];
		return s.ready && !is_chosen(i) && now >= s.free_until;
	};

	// First releases: the GPU is not idle meanwhile.
	for (size_t i = 0; i < states_.size(); i++) {
		State &s = states_[i];
		bool forced = s.held && now >= s.held_since + LONGEST_HOLD_NS;
		if (forced) {
			s.free_until = now + quantum_ns_;
			s.counts.forced++;
		}
		if (s.held && !wants_hold(i))
			release_task(i);
	}
	for (size_t i = 0; i < states_.size(); i++) {
		State &s = states_[i];
		// A new channel, or an enable by the driver: the hold is asserted once more. One that is no longer needed is
		// kept while the task waits: the next choice may need it, and a release costs as much.
		if (wants_hold(i) && (s.held ? !seen[i].held : !yields_by_slice(seen, i)))
			hold_task(i, now);
		if (s.held)
			wake = std::min(wake, s.held_since + LONGEST_HOLD_NS);
	}
	return wake;
}

} // namespace tool::schedule
