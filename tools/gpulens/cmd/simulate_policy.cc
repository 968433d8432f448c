// SPDX-License-Identifier: GPL-2.0
// Simulates the same loads twice and compares the worst response times. A task without a time slice has DEFAULT_SLICE_US in
// the runlist; a change from or to 0 is not a percentage.
#include "gpulens/cmd/simulate_policy.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/schedule/interleaved.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool {

namespace {

using namespace schedule;
using json = nlohmann::ordered_json;

Simulation build_list(const PolicyFile &policy)
{
	std::vector<SimulatedTsg> tsgs;

	for (const PolicyTask &t : policy.tasks) {
		SimulatedTsg tsg;
		tsg.name = t.task.name;
		tsg.level = find_level(t.level);
		tsg.slice_us = t.slice_us ? t.slice_us : DEFAULT_SLICE_US;
		tsgs.push_back(tsg);
	}
	Simulation s = interleave_tsgs(tsgs);
	if (s.overflows)
		throw Error(Error::Input, fmt::format("{}: the runlist would have {} entries, more than {}",
						      policy.name, s.entries, s.max_entries));
	return s;
}

// A change in percent, "-64.6" for less; "-" where there is nothing to compare.
std::string format_change(u64 before, u64 after)
{
	if (!before || !after)
		return "-";
	return fmt::format("{:+.1f}", (static_cast<double>(after) / static_cast<double>(before) - 1) * 100);
}

std::string format_missed(const TaskResult &r, bool has_deadline)
{
	if (!has_deadline)
		return "-";
	return fmt::format("{}/{}", r.missed, r.jobs);
}

json result_json(const TaskResult &r)
{
	return {{"jobs", r.jobs},
		{"missed", r.missed},
		{"late_now_ns", r.late_ns},
		{"worst_response_ns", r.jobs ? json(r.worst_ns) : json(nullptr)},
		{"mean_response_ns", r.jobs ? json(r.total_ns / r.jobs) : json(nullptr)},
		{"ran_ns", r.ran_ns}};
}

} // namespace

PolicySimulation simulate_policy_file(PolicyFile policy, u64 end_ns, u64 switch_ns)
{
	PolicySimulation s;
	std::vector<Load> loads;
	std::vector<Slot> slots;

	if (policy.policy == Policy::Interleaved)
		throw Error(Error::Input, policy.name + ": the policy interleaved is what --simulate compares others "
							"with; name another one");
	for (const PolicyTask &t : policy.tasks) {
		if (!t.load.length_ns && !t.load.endless)
			throw Error(Error::Input, t.where + ": has no load to simulate");
		loads.push_back(t.load);
	}
	s.policy = std::move(policy);
	s.end_ns = end_ns;
	s.switch_ns = switch_ns;
	std::vector<Task> tasks = s.policy.plain_tasks();
	Simulation list = build_list(s.policy);
	for (size_t task : list.slots)
		slots.push_back({task, u64{list.tsgs[task].slice_us} * 1000});
	for (size_t i = 0; i < loads.size(); i++)
		s.bounds_ns.push_back(loads[i].endless ? 0 : bound_response_ns(list, i, loads[i].length_ns, switch_ns));
	s.slices = simulate_slices(slots, tasks, loads, end_ns, {.switch_ns = switch_ns});
	s.scheduled =
		simulate_policy(s.policy.policy, tasks, loads, s.policy.quantum_ns, end_ns, {.switch_ns = switch_ns});
	return s;
}

std::string policy_simulation_text(const PolicySimulation &s)
{
	std::string text =
		fmt::format("{} of {} tasks, by the time slices of an interleaved runlist, and by the policy {}\n\n",
			    format_duration(s.end_ns), s.policy.tasks.size(), name_policy(s.policy.policy));

	text += fmt::format("{:<16} {:>10} {:>10} | {:>10} {:>9} {:>10} | {:>10} {:>9} {:>10} | {:>8}\n", "task", "C",
			    "D", "worst", "missed", "ran", "worst", "missed", "ran", "worst %");
	for (size_t i = 0; i < s.policy.tasks.size(); i++) {
		const PolicyTask &t = s.policy.tasks[i];
		const TaskResult &a = s.slices.tasks[i], &b = s.scheduled.tasks[i];
		u64 deadline = t.task.relative_deadline();
		auto worst = [](const TaskResult &r) { return r.jobs ? format_duration(r.worst_ns) : "-"; };
		text += fmt::format("{:<16} {:>10} {:>10} | {:>10} {:>9} {:>10} | {:>10} {:>9} {:>10} | {:>8}\n",
				    t.task.name, t.load.endless ? "endless" : format_duration(t.load.length_ns),
				    deadline ? format_duration(deadline) : "-", worst(a), format_missed(a, deadline),
				    format_duration(a.ran_ns), worst(b), format_missed(b, deadline),
				    format_duration(b.ran_ns), format_change(a.worst_ns, b.worst_ns));
	}
	text += fmt::format("\n{:<16} {:>10} {:>10} | {:>9} {:>9} {:>9}\n", "task", "P", "R", "A", "B", "C");
	for (size_t i = 0; i < s.policy.tasks.size(); i++) {
		const PolicyTask &t = s.policy.tasks[i];
		const TaskResult &r = s.scheduled.tasks[i];
		text += fmt::format("{:<16} {:>10} {:>10} | {:>9} {:>9} {:>9}\n", t.task.name,
				    t.task.period_ns ? format_duration(t.task.period_ns) : "-",
				    s.bounds_ns[i] ? format_duration(s.bounds_ns[i]) : "-", r.arrived, r.jobs,
				    r.exhausted);
	}
	text += fmt::format("\nR: the longest response by the time slices, if all others always have work\n"
			    "A, B, C: by the policy, jobs that arrived, jobs that ended, budgets that were used up\n"
			    "{} switches by the time slices, which skipped {} entries without work; {} by the policy\n",
			    s.slices.switches, s.slices.skipped, s.scheduled.switches);
	for (size_t i = 0; i < s.policy.tasks.size(); i++)
		for (auto [results, how] :
		     {std::pair{&s.slices.tasks[i], "time slices"}, std::pair{&s.scheduled.tasks[i], "policy"}})
			if (results->late_ns)
				text += fmt::format(
					"{}: by the {}, a job that has not ended is late by {} at the end\n",
					s.policy.tasks[i].task.name, how, format_duration(results->late_ns));
	return text;
}

json policy_simulation_json(const PolicySimulation &s)
{
	json tasks = json::array();

	for (size_t i = 0; i < s.policy.tasks.size(); i++) {
		const PolicyTask &t = s.policy.tasks[i];
		u64 deadline = t.task.relative_deadline();
		tasks.push_back({{"name", t.task.name},
				 {"length_ns", t.load.endless ? json(nullptr) : json(t.load.length_ns)},
				 {"deadline_ns", deadline ? json(deadline) : json(nullptr)},
				 {"period_ns", t.task.period_ns ? json(t.task.period_ns) : json(nullptr)},
				 {"response_bound_ns", s.bounds_ns[i] ? json(s.bounds_ns[i]) : json(nullptr)},
				 {"events",
				  {{"arrived", s.scheduled.tasks[i].arrived},
				   {"ended", s.scheduled.tasks[i].jobs},
				   {"budgets_used_up", s.scheduled.tasks[i].exhausted}}},
				 {"interleaved", result_json(s.slices.tasks[i])},
				 {"scheduled", result_json(s.scheduled.tasks[i])}});
	}
	return {{"version", 1},
		{"policy", name_policy(s.policy.policy)},
		{"end_ns", s.end_ns},
		{"switch_ns", s.switch_ns},
		{"switches", {{"interleaved", s.slices.switches}, {"scheduled", s.scheduled.switches}}},
		{"skipped_entries", s.slices.skipped},
		{"tasks", tasks}};
}

} // namespace tool
