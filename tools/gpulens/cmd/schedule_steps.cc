// SPDX-License-Identifier: GPL-2.0
// Differences between two looks have times of their own, so they are sorted before they are logged. A lost lease released
// all held tasks, even those that are held again by now.
#include "gpulens/cmd/schedule_steps.hpp"

#include "gpulens/cmd/schedule.hpp"
#include "lib/schedule/policy_file.hpp"
#include "lib/turns/turn_file.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool {

using namespace schedule;

ScheduleSteps::ScheduleSteps(const std::string &path, Policy policy, u64 devices, u64 now) : log_(path, devices)
{
	log_.add(ScheduleStep::Policy, now, 0, 0, name_policy(policy));
}

void ScheduleSteps::note(const Coordinator &coordinator)
{
	const std::vector<Task> &tasks = coordinator.tasks();
	struct Step {
		ScheduleStep step;
		u64 time;
		u32 task;
		u64 value;
	};
	std::vector<Step> steps;
	bool lost = coordinator.lost_leases() != lost_leases_;

	states_.resize(tasks.size());
	if (lost)
		steps.push_back({ScheduleStep::LeaseLost, coordinator.lost_at(), 0, 0});
	lost_leases_ = coordinator.lost_leases();
	for (size_t i = 0; i < tasks.size(); i++) {
		const TaskCounts &c = coordinator.counts(i);
		State &before = states_[i];
		State is{.ready = coordinator.scheduler(i).ready(i),
			 .held = coordinator.held(i),
			 .jobs = c.jobs,
			 .missed = c.missed,
			 .refused = c.refused,
			 .exhaustions = coordinator.scheduler(i).exhaustions(i)};
		auto add = [&](ScheduleStep step, u64 time, u64 value = 0) {
			steps.push_back({step, time, static_cast<u32>(i), value});
		};
		u64 decided = coordinator.decided_at(), began = coordinator.job_began(i);
		if (is.jobs != before.jobs) {
			add(ScheduleStep::JobEnded, coordinator.job_ended(i), is.missed != before.missed);
			began = std::max(began, coordinator.job_ended(i));
		}
		if (is.ready && (!before.ready || is.jobs != before.jobs))
			add(ScheduleStep::JobBegan, began,
			    coordinator.deadline(i) == NEVER ? 0 : coordinator.deadline(i));
		if (is.exhaustions != before.exhaustions)
			add(ScheduleStep::BudgetUsed, decided);
		if (is.refused != before.refused)
			add(ScheduleStep::Refused, decided);
		// It may be held once more since.
		if (lost && before.held) {
			add(ScheduleStep::Released, coordinator.lost_at());
			before.held = false;
		}
		if (is.held != before.held)
			add(is.held ? ScheduleStep::Held : ScheduleStep::Released, coordinator.held_changed(i));
		before = is;
	}
	chosen_.resize(coordinator.groups(), NO_TASK);
	for (u32 group = 0; group < coordinator.groups(); group++)
		if (int chosen = coordinator.chosen(group); chosen != chosen_[group]) {
			steps.push_back({chosen == NO_TASK ? ScheduleStep::NoneChosen : ScheduleStep::Chosen,
					 coordinator.decided_at(), static_cast<u32>(std::max(chosen, 0)), group});
			chosen_[group] = chosen;
		}
	std::stable_sort(steps.begin(), steps.end(), [](const Step &a, const Step &b) { return a.time < b.time; });
	for (const Step &s : steps) {
		bool named = s.step != ScheduleStep::LeaseLost && s.step != ScheduleStep::NoneChosen;
		log_.add(s.step, s.time, s.task, s.value, named ? tasks[s.task].name : "");
	}
}

std::string programs_step_path(const std::string &folder)
{
	return folder + "/schedule-steps";
}

std::string gpu_step_path(const std::string &state, unsigned gpu)
{
	return fmt::format("{}/schedule-steps-gpu{}", state, gpu);
}

RecordedSteps::RecordedSteps(const std::vector<unsigned> &gpus, bool module) : gpus_(gpus)
{
	for (u32 i = 0; module && i < gpus.size(); i++)
		of_gpus_.emplace_back(i, std::make_unique<StepReader>(gpu_step_path(ScheduleOptions().state, gpus[i])));
}

std::vector<RecordedSteps::Steps> RecordedSteps::read()
{
	std::vector<Steps> all;

	for (auto &[place, reader] : of_gpus_)
		all.push_back({place, reader->read()});
	if (std::string folder = of_programs_ ? "" : turns::own_runtime_folder();
	    !folder.empty()) // it may be made meanwhile
		of_programs_ = std::make_unique<StepReader>(programs_step_path(folder));
	if (!of_programs_)
		return all;
	std::vector<ScheduleRecord> steps = of_programs_->read();
	u32 place = 0;
	// The policy of programs is for one GPU, whose number the driver gives; where it is not recorded, the first one.
	for (u32 i = 0; i < gpus_.size(); i++)
		if (gpus_[i] < 64 && of_programs_->devices() >> gpus_[i] & 1) {
			place = i;
			break;
		}
	all.push_back({place, std::move(steps)});
	return all;
}

} // namespace tool
