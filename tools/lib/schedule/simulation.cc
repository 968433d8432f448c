// SPDX-License-Identifier: GPL-2.0
// Time advances from event to event, by 1 ns at least, so that a wake-up that is due already does not stop the simulation.
// In simulate_policy() an arrival may interrupt a switch of context, which goes on unless another task is chosen.
#include "lib/schedule/simulation.hpp"

#include <algorithm>

namespace tool::schedule {

namespace {

// The jobs of all tasks: which have arrived, and how much of the first one is left.
class Jobs {
public:
	Jobs(const std::vector<Task> &tasks, const std::vector<Load> &loads, SimulatedRun &run)
		: tasks_(tasks), loads_(loads), run_(run), states_(tasks.size())
	{
		run_.tasks.resize(tasks.size());
		for (size_t i = 0; i < tasks.size(); i++)
			if (loads_[i].length_ns || loads_[i].endless)
				plan_arrival(i, loads_[i].first_ns);
	}

	u64 next_arrival() const { return arrivals_.empty() ? NEVER : arrivals_.begin()->first; }
	bool has_work(size_t task) const { return !states_[task].waiting.empty(); }
	u64 left_ns(size_t task) const { return states_[task].left; }

	// Returns a task whose job arrives until now; NO_TASK: none is left.
	int take_arrival(u64 now)
	{
		if (next_arrival() > now)
			return NO_TASK;
		auto [at, task] = *arrivals_.begin();
		State &s = states_[task];
		arrivals_.erase(arrivals_.begin());
		run_.tasks[task].arrived++;
		if (s.waiting.empty())
			s.left = length_of(task);
		s.waiting.push_back(at);
		if (loads_[task].period_ns && !loads_[task].endless && s.arrived < loads_[task].count)
			plan_arrival(task, at + loads_[task].period_ns);
		return static_cast<int>(task);
	}

	// Returns whether the first job ends by that.
	bool run_for(size_t task, u64 from, u64 ns)
	{
		State &s = states_[task];

		if (!ns)
			return false;
		run_.tasks[task].ran_ns += ns;
		if (!run_.segments.empty() && run_.segments.back().task == task && run_.segments.back().to == from)
			run_.segments.back().to = from + ns;
		else
			run_.segments.push_back({task, from, from + ns});
		if (s.left == NEVER)
			return false;
		s.left -= ns;
		if (s.left)
			return false;
		end_first(task, from + ns);
		return true;
	}

	// Counts jobs that are not finished although their deadline is over.
	void count_late(u64 end)
	{
		for (size_t i = 0; i < tasks_.size(); i++)
			for (u64 arrival : states_[i].waiting)
				if (u64 d = tasks_[i].relative_deadline();
				    d && arrival + d <= end && !loads_[i].endless) {
					run_.tasks[i].missed++;
					run_.tasks[i].late_ns = std::max(run_.tasks[i].late_ns, end - arrival - d);
				}
	}

private:
	struct State {
		std::deque<u64> waiting{};
		u64 left = 0, arrived = 0;
	};

	u64 length_of(size_t task) const { return loads_[task].endless ? NEVER : loads_[task].length_ns; }
	void plan_arrival(size_t task, u64 at)
	{
		states_[task].arrived++;
		arrivals_.insert({at, task});
	}
	void end_first(size_t task, u64 now)
	{
		State &s = states_[task];
		TaskResult &r = run_.tasks[task];
		u64 arrival = s.waiting.front(), response = now - arrival;

		s.waiting.pop_front();
		s.left = s.waiting.empty() ? 0 : length_of(task);
		run_.finished.push_back({task, arrival, now});
		if (loads_[task].closed && s.arrived < loads_[task].count)
			plan_arrival(task, now);
		r.jobs++;
		r.total_ns += response;
		r.worst_ns = std::max(r.worst_ns, response);
		if (u64 d = tasks_[task].relative_deadline(); d && response > d)
			r.missed++;
	}

	const std::vector<Task> &tasks_;
	const std::vector<Load> &loads_;
	SimulatedRun &run_;
	std::vector<State> states_;
	std::set<std::pair<u64, size_t>> arrivals_;
};

} // namespace

SimulatedRun simulate_policy(Policy policy, const std::vector<Task> &tasks, const std::vector<Load> &loads,
			     u64 quantum_ns, u64 end_ns, Costs costs)
{
	SimulatedRun run;
	Jobs jobs(tasks, loads, run);
	Scheduler scheduler(policy, tasks, quantum_ns);
	int on = NO_TASK; // whose context the GPU has
	u64 switching = 0;

	for (u64 now = 0; now < end_ns;) {
		for (int task; (task = jobs.take_arrival(now)) != NO_TASK;)
			scheduler.add_job(static_cast<size_t>(task), now);
		Decision d = scheduler.choose(now);
		if (d.task != NO_TASK && d.task != on) {
			run.switches += on != NO_TASK;
			switching = on == NO_TASK ? 0 : costs.switch_ns;
			on = d.task;
		}
		u64 next = std::min({end_ns, jobs.next_arrival(), std::max(d.wake, now + 1)});
		if (d.task == NO_TASK) {
			now = next;
			continue;
		}
		size_t task = static_cast<size_t>(d.task);
		u64 lost = std::min(switching, next - now);
		switching -= lost;
		now += lost;
		u64 ran = std::min(next - now, jobs.left_ns(task));
		bool ended = jobs.run_for(task, now, ran);
		now += ran;
		if (ended)
			scheduler.end_job(task, now);
	}
	for (size_t i = 0; i < tasks.size(); i++)
		run.tasks[i].exhausted = scheduler.exhaustions(i);
	jobs.count_late(end_ns);
	return run;
}

SimulatedRun simulate_slices(const std::vector<Slot> &slots, const std::vector<Task> &tasks,
			     const std::vector<Load> &loads, u64 end_ns, Costs costs)
{
	SimulatedRun run;
	Jobs jobs(tasks, loads, run);
	size_t cursor = 0;
	int on = NO_TASK;

	for (u64 now = 0; now < end_ns;) {
		while (jobs.take_arrival(now) != NO_TASK)
			;
		size_t skipped = 0;
		while (skipped < slots.size() && !jobs.has_work(slots[(cursor + skipped) % slots.size()].task))
			skipped++;
		if (skipped == slots.size()) {
			now = std::min(end_ns, jobs.next_arrival());
			continue;
		}
		const Slot &slot = slots[(cursor + skipped) % slots.size()];
		cursor = (cursor + skipped + 1) % slots.size();
		run.skipped += skipped;
		if (on != static_cast<int>(slot.task)) {
			run.switches += on != NO_TASK;
			now = std::min(end_ns, now + (on == NO_TASK ? 0 : costs.switch_ns));
			on = static_cast<int>(slot.task);
		}
		for (u64 slice_end = std::min(end_ns, now + slot.slice_ns); now < slice_end;) {
			while (jobs.take_arrival(now) != NO_TASK)
				;
			if (!jobs.has_work(slot.task))
				break;
			u64 ran = std::min({jobs.left_ns(slot.task), slice_end - now,
					    std::max(jobs.next_arrival(), now + 1) - now});
			jobs.run_for(slot.task, now, ran);
			now += ran;
		}
	}
	jobs.count_late(end_ns);
	return run;
}

} // namespace tool::schedule
