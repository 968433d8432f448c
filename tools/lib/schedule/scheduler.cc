// SPDX-License-Identifier: GPL-2.0
// Ready queues, servers and tenants. See scheduler.hpp.
#include "lib/schedule/scheduler.hpp"

#include <algorithm>
#include <map>

namespace tool::schedule {

namespace {

constexpr int64_t WEIGHT_UNIT = 1024; // received time is in ns * WEIGHT_UNIT / weight

// a * b < c * d without overflow.
bool is_product_less(u64 a, u64 b, u64 c, u64 d)
{
	__extension__ using wide = unsigned __int128;

	return static_cast<wide>(a) * b < static_cast<wide>(c) * d;
}

} // namespace

bool is_real_time(Policy policy, const Task &task)
{
	switch (policy) {
	case Policy::FixedPriority: return task.priority.has_value();
	case Policy::Edf: return task.deadline_ns || task.budget_ns;
	case Policy::Share:
	case Policy::Interleaved: return false;
	}
	return false;
}

Scheduler::Scheduler(Policy policy, std::vector<Task> tasks, u64 quantum_ns)
	: policy_(policy), tasks_(std::move(tasks)), quantum_ns_(quantum_ns), states_(tasks_.size())
{
	std::map<std::string, size_t> named;

	for (size_t i = 0; i < tasks_.size(); i++) {
		State &s = states_[i];
		s.real_time = is_real_time(policy_, tasks_[i]);
		bool own = tasks_[i].tenant.empty();
		auto at = own ? named.end() : named.find(tasks_[i].tenant);
		if (at == named.end()) {
			s.tenant = tenants_.size();
			tenants_.push_back({.weight = std::max<u32>(tasks_[i].weight, 1)});
			if (!own)
				named[tasks_[i].tenant] = s.tenant;
		} else {
			s.tenant = at->second;
		}
	}
}

u64 Scheduler::deadline_of(size_t task) const
{
	const State &s = states_[task];

	if (tasks_[task].budget_ns && policy_ == Policy::Edf)
		return s.deadline;
	return s.jobs.empty() ? NEVER : s.jobs.front().deadline;
}

// The task ran since the last decision.
void Scheduler::charge_current(u64 now)
{
	u64 ran = now > since_ ? now - since_ : 0;

	since_ = std::max(since_, now);
	if (current_ == NO_TASK || !ran)
		return;
	size_t task = static_cast<size_t>(current_);
	charge(task, static_cast<int64_t>(ran));
	if (states_[task].real_time)
		return;
	used_ns_ += ran;
	if (used_ns_ > quantum_ns_ && ready_tenants_.size() == 1 && tenants_[states_[task].tenant].ready.size() == 1)
		used_ns_ = (used_ns_ - 1) % quantum_ns_ + 1; // a new quantum each time, for want of others
}

// ran: below 0 it is given back.
void Scheduler::charge(size_t task, int64_t ran)
{
	State &s = states_[task];

	s.ran_ns += static_cast<u64>(ran);
	if (!s.real_time) {
		Tenant &t = tenants_[s.tenant];
		bool listed = ready_tenants_.erase({t.time, s.tenant});
		int64_t time = static_cast<int64_t>(t.time) + ran * WEIGHT_UNIT / t.weight;
		t.time = static_cast<u64>(std::max<int64_t>(time, 0));
		if (listed)
			ready_tenants_.insert({t.time, s.tenant});
		served_ = std::max(served_, t.time);
	} else if (tasks_[task].budget_ns) {
		// What comes back beyond a whole budget would take others' time at once.
		s.budget = std::min(s.budget - ran, static_cast<int64_t>(tasks_[task].budget_ns));
		if (s.budget <= 0 && !s.throttled) {
			s.exhaustions++;
			refill_server(task);
		}
	}
}

void Scheduler::move_charge(int from, size_t to, u64 ns)
{
	if (from != NO_TASK)
		charge(static_cast<size_t>(from), -static_cast<int64_t>(ns));
	charge(to, static_cast<int64_t>(ns));
}

// A server that has no budget: a soft one gets one with a later deadline, a hard one waits for its deadline.
void Scheduler::refill_server(size_t task)
{
	State &s = states_[task];
	bool queued = s.queued;

	if (queued)
		leave(task);
	if (tasks_[task].server == Server::Hard) {
		s.throttled = true;
		throttled_.insert({s.deadline, task});
		return;
	}
	while (s.budget <= 0) {
		s.budget += static_cast<int64_t>(tasks_[task].budget_ns);
		s.deadline += tasks_[task].period_ns;
	}
	if (queued)
		enter(task);
}

void Scheduler::end_throttling(u64 now)
{
	while (!throttled_.empty() && throttled_.begin()->first <= now) {
		size_t task = throttled_.begin()->second;
		State &s = states_[task];
		throttled_.erase(throttled_.begin());
		s.budget += static_cast<int64_t>(tasks_[task].budget_ns);
		s.deadline += tasks_[task].period_ns;
		if (s.budget <= 0) { // it ran for more than a budget too long
			throttled_.insert({s.deadline, task});
			continue;
		}
		s.budget = std::min(s.budget, static_cast<int64_t>(tasks_[task].budget_ns));
		s.throttled = false;
		if (!s.jobs.empty())
			enter(task);
	}
}

// The rule for a job that finds its server idle: budget and deadline are kept only if using them up until that deadline
// needs no more than the server's bandwidth.
void Scheduler::wake_server(State &s, const Task &task, u64 now)
{
	if (s.throttled)
		return;
	bool keeps = s.deadline > now && (s.budget <= 0 || is_product_less(static_cast<u64>(s.budget), task.period_ns,
									   s.deadline - now, task.budget_ns));
	if (keeps)
		return;
	s.budget = std::min<int64_t>(s.budget, 0) + static_cast<int64_t>(task.budget_ns);
	s.deadline = now + task.period_ns;
}

// The task becomes ready.
void Scheduler::enter(size_t task)
{
	State &s = states_[task];

	if (s.throttled)
		return;
	s.queued = true;
	if (s.real_time) {
		u64 urgency = policy_ == Policy::FixedPriority ? *tasks_[task].priority : deadline_of(task);
		s.key = {urgency, s.jobs.front().arrival, task};
		urgent_.insert(s.key);
		return;
	}
	Tenant &t = tenants_[s.tenant];
	if (t.ready.empty()) {
		floor_ = std::max(floor_, ready_tenants_.empty() ? served_ : ready_tenants_.begin()->first);
		t.time = std::max(t.time, floor_);
		ready_tenants_.insert({t.time, s.tenant});
	}
	s.turn = ++turns_;
	t.ready.insert({s.turn, task});
}

void Scheduler::leave(size_t task)
{
	State &s = states_[task];

	if (!s.queued)
		return;
	s.queued = false;
	if (s.real_time) {
		urgent_.erase(s.key);
		return;
	}
	Tenant &t = tenants_[s.tenant];
	t.ready.erase({s.turn, task});
	if (t.ready.empty())
		ready_tenants_.erase({t.time, s.tenant});
	if (best_ == static_cast<int>(task))
		best_ = NO_TASK;
}

void Scheduler::add_job(size_t task, u64 now, u64 deadline)
{
	charge_current(now);
	end_throttling(now);
	State &s = states_[task];
	u64 relative = tasks_[task].deadline_ns;

	s.jobs.push_back({now, relative ? std::max(now + relative, deadline) : NEVER});
	if (s.jobs.size() > 1)
		return;
	if (tasks_[task].budget_ns && s.real_time) {
		wake_server(s, tasks_[task], now);
		if (!s.throttled && s.budget <= 0)
			refill_server(task);
	}
	enter(task);
}

void Scheduler::end_job(size_t task, u64 now)
{
	charge_current(now);
	State &s = states_[task];

	if (s.jobs.empty())
		return;
	// The tenant keeps its place if another job follows.
	if (!s.real_time && s.jobs.size() > 1) {
		s.jobs.pop_front();
		return;
	}
	leave(task);
	s.jobs.pop_front();
	if (!s.jobs.empty())
		enter(task);
	if (s.jobs.empty() && current_ == static_cast<int>(task))
		current_ = NO_TASK;
}

// Sets best_ to the best-effort task that runs when no real-time task does.
void Scheduler::choose_best_effort()
{
	if (best_ != NO_TASK && used_ns_ < quantum_ns_)
		return;
	if (best_ != NO_TASK) { // behind the tenant's other tasks
		State &s = states_[static_cast<size_t>(best_)];
		Tenant &t = tenants_[s.tenant];
		t.ready.erase({s.turn, static_cast<size_t>(best_)});
		s.turn = ++turns_;
		t.ready.insert({s.turn, static_cast<size_t>(best_)});
	}
	best_ = NO_TASK;
	used_ns_ = 0;
	if (!ready_tenants_.empty())
		best_ = static_cast<int>(tenants_[ready_tenants_.begin()->second].ready.begin()->second);
}

Decision Scheduler::choose(u64 now)
{
	Decision d;

	charge_current(now);
	end_throttling(now);
	if (!throttled_.empty())
		d.wake = throttled_.begin()->first;
	if (!urgent_.empty()) {
		size_t task = std::get<2>(*urgent_.begin());
		d.task = static_cast<int>(task);
		if (tasks_[task].budget_ns)
			d.wake = std::min(d.wake, now + static_cast<u64>(states_[task].budget));
	} else {
		choose_best_effort();
		d.task = best_;
		bool others =
			ready_tenants_.size() > 1 ||
			(best_ != NO_TASK && tenants_[states_[static_cast<size_t>(best_)].tenant].ready.size() > 1);
		if (others)
			d.wake = std::min(d.wake, now + quantum_ns_ - used_ns_);
	}
	current_ = d.task;
	return d;
}

} // namespace tool::schedule
