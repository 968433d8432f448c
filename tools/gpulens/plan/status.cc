// SPDX-License-Identifier: GPL-2.0
// See status.hpp; docs/plan-schema.json describes the JSON.
#include "gpulens/plan/status.hpp"

#include "gpulens/plan/task.hpp"
#include "lib/base/errors.hpp"
#include "lib/turns/plan_file.hpp"
#include "lib/turns/turns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

std::string now_text(const TaskStatus &task)
{
	std::string text;

	if (!task.running.empty())
		text = fmt::format("runs in process {}", fmt::join(task.running, ", "));
	if (!task.waiting.empty())
		text += fmt::format("{}waits in process {}", text.empty() ? "" : "; ", fmt::join(task.waiting, ", "));
	return text.empty() ? "-" : text;
}

} // namespace

std::vector<TaskStatus> read_status(const std::string &text, const std::string &name)
{
	PlanFile plan = read_plan(text, name, false);
	std::string why;
	auto file = turns::TurnFile::open_to_read(plan.turns_name(), plan.rules, why);
	std::vector<TaskStatus> tasks;

	if (!file)
		throw Error(Error::Source,
			    fmt::format("{}: no counts of this plan for this user: {}; programs are counted by "
					"their calls of gpulens_job_begin(), without them gpulens run "
					"--plan only limits their TPCs",
					name, why));
	for (size_t i = 0; i < plan.rules.tasks.size(); i++) {
		const turns::TaskRules &rules = plan.rules.tasks[i];
		const turns::Counts &counts = file->task(i).counts;
		tasks.push_back({.name = rules.name,
				 .partition = rules.queue,
				 .time_ns = rules.time,
				 .deadline_ns = rules.deadline,
				 .jobs = counts.jobs,
				 .waits = counts.waits,
				 .overruns = counts.overruns,
				 .misses = counts.misses,
				 .deaths = counts.deaths,
				 .longest_wait_ns = counts.longest_wait,
				 .longest_run_ns = counts.longest_run,
				 .running = {},
				 .waiting = {}});
	}
	for (u32 i = 0; i < plan.rules.queues; i++)
		for (const turns::Member &member : turns::members(file->queue(i)))
			if (member.task < tasks.size())
				(member.running ? tasks[member.task].running : tasks[member.task].waiting)
					.push_back(member.process);
	return tasks;
}

std::string status_text(const std::vector<TaskStatus> &tasks, const Style &style)
{
	Table t({"Partition", "<Task", "Jobs", "~Waits", "~Overruns", "Misses", "~Deaths", "~Longest wait us",
		 "Longest run us", "Planned us", "<Now"});

	for (const TaskStatus &task : tasks)
		t.add({std::to_string(task.partition), task.name, std::to_string(task.jobs), std::to_string(task.waits),
		       std::to_string(task.overruns), std::to_string(task.misses), std::to_string(task.deaths),
		       us_text(task.longest_wait_ns), us_text(task.longest_run_ns), us_text(task.time_ns),
		       now_text(task)});
	return t.str(style);
}

json status_json(const std::vector<TaskStatus> &tasks)
{
	json list = json::array();

	for (const TaskStatus &task : tasks)
		list.push_back({{"name", task.name},
				{"partition", task.partition},
				{"time_us", double(task.time_ns) / 1000},
				{"deadline_us", double(task.deadline_ns) / 1000},
				{"jobs", task.jobs},
				{"waits", task.waits},
				{"overruns", task.overruns},
				{"misses", task.misses},
				{"deaths", task.deaths},
				{"longest_wait_us", double(task.longest_wait_ns) / 1000},
				{"longest_run_us", double(task.longest_run_ns) / 1000},
				{"running", task.running},
				{"waiting", task.waiting}});
	return {{"version", 1}, {"command", "plan --status"}, {"tasks", list}};
}

} // namespace tool::plan
