// SPDX-License-Identifier: GPL-2.0
// A decision has its effect `control` after the arrival or the end of a job, and chooses among what there is then; a
// switch to another job takes `switching`, which is not preempted (schedulability.hpp).
#include "gpulens/plan/play.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <random>

namespace tool::plan {

namespace {

// Draws the times of a task's jobs.
class JobTimes {
public:
	JobTimes(u64 planned_ns, std::vector<double> measured_us) : planned_ns_(planned_ns), us_(std::move(measured_us))
	{
		for (double us : us_)
			longest_us_ = std::max(longest_us_, us);
	}

	u64 draw(std::mt19937_64 &random) const
	{
		if (us_.empty())
			return planned_ns_;
		double share = us_[random() % us_.size()] / longest_us_;
		return std::clamp<u64>(static_cast<u64>(share * static_cast<double>(planned_ns_)), 1, planned_ns_);
	}

private:
	u64 planned_ns_;
	std::vector<double> us_;
	double longest_us_ = 0;
};

class PartitionPlayer {
public:
	PartitionPlayer(const Plan &plan, const Partition &partition, std::vector<JobTimes> times, Play &play)
		: rule_(*rule_of_test(criterion_name(plan.test))), costs_(plan.sharing.costs), tasks_(partition.tasks),
		  times_(std::move(times)), next_release_(tasks_.size(), 0), all_(plan.file.tasks), play_(play)
	{
		Situation situation = plan.problem().situation_of(tasks_);
		for (u32 task : tasks_)
			kernels_.push_back(has_kernels(plan.test)
						   ? longest_kernel_in(all_[task], partition.tpcs, situation)
						   : NEVER);
	}

	void run()
	{
		for (u64 now = 0; now < play_.end_ns;) {
			release_jobs(now);
			if (decide_at_ <= now && now >= switched_at_ && is_preemptible())
				choose(now);
			u64 next = std::min(next_event(now), play_.end_ns);
			advance(now, next);
			now = next;
		}
		for (const Live &job : live_)
			play_.jobs.push_back({job.task, job.release, job.release + all_[job.task].deadline_ns, NEVER});
	}

private:
	struct Live {
		u32 task, member;
		u64 release, left, in_kernel; // in_kernel: left of the kernel that runs
	};

	void release_jobs(u64 now)
	{
		for (u32 i = 0; i < tasks_.size(); i++)
			for (; next_release_[i] <= now;
			     next_release_[i] += all_[tasks_[i]].period_ns + all_[tasks_[i]].jitter_ns) {
				u64 length = times_[i].draw(random_);
				live_.push_back(
					{tasks_[i], i, next_release_[i], length, std::min(length, kernels_[i])});
				decide_at_ = std::min(decide_at_, next_release_[i] + costs_.control);
			}
	}

	u64 urgency_of(const Live &job) const
	{
		u64 deadline = all_[job.task].deadline_ns;

		return rule_.order == turns::Order::Edf    ? job.release + deadline
		       : rule_.order == turns::Order::Fifo ? job.release
							   : deadline;
	}

	// Returns whether another job may be chosen now.
	bool is_preemptible() const { return !runs_ || rule_.preempts || at_boundary_; }

	void choose(u64 now)
	{
		decide_at_ = NEVER;
		auto best = std::min_element(live_.begin(), live_.end(), [this](const Live &a, const Live &b) {
			return std::tuple(urgency_of(a), a.task, a.release) <
			       std::tuple(urgency_of(b), b.task, b.release);
		});
		if (best == live_.end())
			return;
		size_t chosen = size_t(best - live_.begin());
		if (!runs_ || chosen != current_)
			switched_at_ = now + costs_.switching;
		current_ = chosen;
		runs_ = true;
		at_boundary_ = false;
	}

	u64 next_event(u64 now) const
	{
		u64 next = *std::min_element(next_release_.begin(), next_release_.end());

		if (runs_)
			next = std::min(next, std::max(now, switched_at_) + live_[current_].in_kernel);
		// Later than now, or a decision that cannot be carried out before another event.
		for (u64 at : {decide_at_, switched_at_})
			if (at > now && at != NEVER)
				next = std::min(next, at);
		return next;
	}

	void advance(u64 now, u64 next)
	{
		at_boundary_ = false;
		if (!runs_ || next <= switched_at_)
			return;
		Live &job = live_[current_];
		u64 from = std::max(now, switched_at_), ran = next - from;
		if (!play_.spans.empty() && play_.spans.back().task == job.task && play_.spans.back().to_ns == from)
			play_.spans.back().to_ns = next;
		else if (ran)
			play_.spans.push_back({job.task, from, next});
		job.left -= ran;
		job.in_kernel -= ran;
		if (!job.left) {
			end_job(next);
		} else if (!job.in_kernel) {
			job.in_kernel = std::min(job.left, kernels_[job.member]);
			at_boundary_ = true;
		}
	}

	void end_job(u64 now)
	{
		const Live &job = live_[current_];
		PlayedTask &task = play_.tasks[job.task];
		u64 response = now - job.release, deadline = all_[job.task].deadline_ns;

		task.jobs++;
		task.total_ns += response;
		task.worst_ns = std::max(task.worst_ns, response);
		play_.jobs.push_back({job.task, job.release, job.release + deadline, now});
		live_.erase(live_.begin() + long(current_));
		runs_ = false;
		// One that could not be carried out while the job ran is made anew.
		decide_at_ = std::min(decide_at_ < now ? NEVER : decide_at_, now + costs_.control);
	}

	TestRule rule_;
	Costs costs_;
	const std::vector<u32> &tasks_;
	std::vector<JobTimes> times_;
	std::vector<u64> kernels_, next_release_; // by task of the partition
	const std::vector<Task> &all_;
	Play &play_;
	std::vector<Live> live_;                  // released, and not ended
	size_t current_ = 0;                      // of them, if runs_
	bool runs_ = false, at_boundary_ = false; // at_boundary_: between two of its kernels
	u64 decide_at_ = NEVER;                   // when a decision has its effect
	u64 switched_at_ = 0;                     // when the switch to the current job is over
	std::mt19937_64 random_{1};
};

// Returns the times on that many TPCs, or the next smaller size, or the smallest.
std::vector<double> times_on(const std::vector<Samples> &measured, const std::string &task, u32 tpcs)
{
	auto of = std::find_if(measured.begin(), measured.end(), [&](const Samples &s) { return s.task == task; });

	if (measured.empty())
		return {};
	if (of == measured.end() || of->alone_each.empty())
		throw Error(Error::Input, fmt::format("task \"{}\" has no times alone", task));
	auto at = of->alone_each.upper_bound(tpcs);
	return at == of->alone_each.begin() ? at->second : std::prev(at)->second;
}

} // namespace

u64 Play::missed() const
{
	return std::accumulate(tasks.begin(), tasks.end(), u64{0},
			       [](u64 sum, const PlayedTask &t) { return sum + t.missed; });
}

Play play_plan(const Plan &plan, const std::vector<Samples> &measured, u64 end_ns)
{
	Play play{.end_ns = end_ns, .measured = !measured.empty(), .tasks{}, .spans{}, .jobs{}};
	Problem problem = plan.problem();
	u64 jobs = 0;

	for (const Task &t : plan.file.tasks)
		jobs += end_ns / (t.period_ns + t.jitter_ns) + 1;
	if (jobs > MAX_PLAYED_JOBS)
		throw Error(Error::Input,
			    fmt::format("--play: {} jobs in that time, more than {}", jobs, MAX_PLAYED_JOBS));
	play.tasks.resize(plan.file.tasks.size());
	for (const Partition &p : plan.allocation().partitions) {
		Situation situation = problem.situation_of(p.tasks);
		std::vector<JobTimes> times;
		times.reserve(p.tasks.size());
		for (u32 task : p.tasks)
			times.emplace_back(time_in(plan.file.tasks[task], p.tpcs, situation),
					   times_on(measured, plan.file.tasks[task].name, p.tpcs));
		PartitionPlayer(plan, p, std::move(times), play).run();
	}
	for (const PlayedJob &job : play.jobs)
		play.tasks[job.task].missed += job.is_missed(end_ns);
	return play;
}

} // namespace tool::plan
