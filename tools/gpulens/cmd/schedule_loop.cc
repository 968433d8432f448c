// SPDX-License-Identifier: GPL-2.0
// The next look comes with an announced job, at the time that the scheduler wants or after a limit, but at least
// LEAST_BETWEEN_NS after the last one, so that programs cannot keep this process busy.
#include "gpulens/cmd/schedule_loop.hpp"

#include "lib/base/format.hpp"
#include "lib/base/signals.hpp"
#include "lib/schedule/policy_file.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

using namespace schedule;
using json = nlohmann::ordered_json;

namespace {

constexpr u64 LONGEST_SLEEP_NS = 20000000;
constexpr u64 LEAST_BETWEEN_NS = 100000; // two looks

// Returns "longest hold 1.272 ms (the driver 0.525 ms)".
std::string cost_text(const json &task, const std::string &request)
{
	std::string key = fmt::format("longest_{}", request);
	std::string text = fmt::format("longest {} {}", request, format_duration(task[key + "_ns"].get<u64>()));

	if (task.contains(key + "_driver_ns"))
		text += fmt::format(" (the driver {})", format_duration(task[key + "_driver_ns"].get<u64>()));
	return text;
}

void add_cost(json &task, const std::string &key, const Cost &cost)
{
	task[key + "_ns"] = cost.took_ns;
	if (cost.driver_ns)
		task[key + "_driver_ns"] = cost.driver_ns;
}

std::string summary_text(const json &summary)
{
	std::string text = fmt::format("{:<16} {:>12} {:>6} {:>6} {:>12} {:>6} {:>8} {:>7} {:>6}\n", "task", "charged",
				       "jobs", "missed", "worst", "holds", "releases", "refused", "forced");

	for (const json &t : summary["tasks"])
		text += fmt::format("{:<16} {:>12} {:>6} {:>6} {:>12} {:>6} {:>8} {:>7} {:>6}\n",
				    t["name"].get<std::string>(), format_duration(t["ran_ns"].get<u64>()),
				    t["jobs"].get<u64>(), t["missed"].get<u64>(),
				    format_duration(t["worst_response_ns"].get<u64>()), t["holds"].get<u64>(),
				    t["releases"].get<u64>(), t["refused"].get<u64>(), t["forced_releases"].get<u64>());
	text += late_text(summary["tasks"]);
	for (const json &t : summary["tasks"])
		if (t["longest_hold_ns"].get<u64>())
			text += fmt::format("{}: {}, {}\n", t["name"].get<std::string>(), cost_text(t, "hold"),
					    cost_text(t, "release"));
	for (const json &t : summary["tasks"])
		if (u64 overran = t["overran_ns"].get<u64>())
			text += fmt::format("{}: {} of it while another task was chosen\n",
					    t["name"].get<std::string>(), format_duration(overran));
	if (summary.contains("charged_by"))
		text += fmt::format("Time is charged by {}.\n", summary["charged_by"].get<std::string>());
	if (u64 lost = summary["lost_leases"].get<u64>())
		text += fmt::format(
			"All tasks were released {} time{}, because this process did not run for too long; a longer "
			"--lease, up to 1s, waits for it.\n",
			lost, lost == 1 ? "" : "s");
	return text;
}

} // namespace

json summary_json(const Coordinator &coordinator, Policy policy)
{
	json tasks = json::array();

	for (size_t i = 0; i < coordinator.tasks().size(); i++) {
		const TaskCounts &c = coordinator.counts(i);
		tasks.push_back({{"name", coordinator.tasks()[i].name},
				 {"ran_ns", coordinator.scheduler(i).ran_ns(i)},
				 {"jobs", c.jobs},
				 {"missed", c.missed},
				 {"late_now_ns", coordinator.late_ns(i)},
				 {"worst_response_ns", c.worst_ns},
				 {"budgets_used_up", coordinator.scheduler(i).exhaustions(i)},
				 {"holds", c.holds},
				 {"releases", c.releases},
				 {"refused", c.refused},
				 {"forced_releases", c.forced},
				 {"overran_ns", c.overran_ns}});
		add_cost(tasks.back(), "longest_hold", c.longest_hold);
		add_cost(tasks.back(), "longest_release", c.longest_release);
	}
	json summary = {{"version", 1},
			{"policy", name_policy(policy)},
			{"lost_leases", coordinator.lost_leases()},
			{"tasks", tasks}};
	if (std::string by = coordinator.charging(); !by.empty())
		summary["charged_by"] = by;
	return summary;
}

std::string late_text(const json &tasks)
{
	std::string text;

	for (const json &t : tasks)
		if (u64 late = t.at("late_now_ns").get<u64>())
			text += fmt::format(
				"{}: late now, by {}: a job that has not ended, and is not among the missed\n",
				t.at("name").get<std::string>(), format_duration(late));
	return text;
}

std::string describe_task(Policy policy, const Task &t)
{
	if (!is_real_time(policy, t))
		return fmt::format("best effort, weight {}{}", t.weight,
				   t.tenant.empty() ? "" : " of tenant " + t.tenant);
	if (policy == Policy::FixedPriority)
		return fmt::format("priority {}", *t.priority);
	if (t.budget_ns)
		return fmt::format("{} of each {}, {} server", format_duration(t.budget_ns),
				   format_duration(t.period_ns), t.server == Server::Hard ? "hard" : "soft");
	return fmt::format("deadline {} after arrival", format_duration(t.deadline_ns));
}

void run_coordinator(Coordinator &coordinator, Backend &backend, const ScheduleOptions &options, ScheduleSteps &steps,
		     const std::function<void()> &check)
{
	StopSignals stop;
	u64 start = backend.now();

	while (!stop.came()) {
		check();
		u64 look = backend.now(), wake = coordinator.run_once(), now = backend.now();
		steps.note(coordinator);
		if (options.for_ns && now >= start + options.for_ns)
			return;
		backend.sleep_until(std::min({now + options.every_ns, wake, now + LONGEST_SLEEP_NS}));
		// However often programs announce jobs.
		if (now = backend.now(); now < look + LEAST_BETWEEN_NS && !stop.came())
			usleep(static_cast<useconds_t>((look + LEAST_BETWEEN_NS - now) / 1000));
	}
}

int show_summary(const Options &options, const Coordinator &coordinator, Policy policy, const std::string &failure)
{
	json summary = summary_json(coordinator, policy);
	bool shown = print_text(options.json ? json_text(summary) : summary_text(summary));

	if (!failure.empty()) {
		std::fprintf(stderr, "gpulens: %s\n", failure.c_str());
		return EXIT_REFUSED;
	}
	return shown ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
