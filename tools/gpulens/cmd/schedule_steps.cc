// SPDX-License-Identifier: GPL-2.0
// See schedule_steps.hpp.
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

void ScheduleSteps::note(const Coordinator &coordinator, u64 now)
{
	const std::vector<Task> &tasks = coordinator.scheduler().tasks();

	states_.resize(tasks.size());
	if (coordinator.lost_leases() != lost_leases_)
		log_.add(ScheduleStep::LeaseLost, now);
	lost_leases_ = coordinator.lost_leases();
	for (size_t i = 0; i < tasks.size(); i++) {
		const TaskCounts &c = coordinator.counts(i);
		State &before = states_[i];
		State is{.ready = coordinator.scheduler().ready(i),
			 .held = coordinator.held(i),
			 .jobs = c.jobs,
			 .missed = c.missed,
			 .refused = c.refused,
			 .exhaustions = coordinator.scheduler().exhaustions(i)};
		auto add = [&](ScheduleStep step, u64 value = 0) {
			log_.add(step, now, static_cast<u32>(i), value, tasks[i].name);
		};
		if (is.jobs != before.jobs)
			add(ScheduleStep::JobEnded, is.missed != before.missed);
		if (is.ready && (!before.ready || is.jobs != before.jobs))
			add(ScheduleStep::JobBegan, coordinator.deadline(i) == NEVER ? 0 : coordinator.deadline(i));
		if (is.exhaustions != before.exhaustions)
			add(ScheduleStep::BudgetUsed);
		if (is.refused != before.refused)
			add(ScheduleStep::Refused);
		if (is.held != before.held)
			add(is.held ? ScheduleStep::Held : ScheduleStep::Released);
		before = is;
	}
	if (int chosen = coordinator.chosen(); chosen != chosen_) {
		if (chosen == NO_TASK)
			log_.add(ScheduleStep::NoneChosen, now);
		else
			log_.add(ScheduleStep::Chosen, now, static_cast<u32>(chosen), 0,
				 tasks[static_cast<size_t>(chosen)].name);
		chosen_ = chosen;
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

RecordedSteps::RecordedSteps(const std::vector<unsigned> &gpus, bool module)
	: gpus_(gpus), of_programs_(std::make_unique<StepReader>(programs_step_path(turns::runtime_folder())))
{
	for (u32 i = 0; module && i < gpus.size(); i++)
		of_gpus_.emplace_back(i, std::make_unique<StepReader>(gpu_step_path(ScheduleOptions().state, gpus[i])));
}

std::vector<RecordedSteps::Steps> RecordedSteps::read()
{
	std::vector<Steps> all;

	for (auto &[place, reader] : of_gpus_)
		all.push_back({place, reader->read()});
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
