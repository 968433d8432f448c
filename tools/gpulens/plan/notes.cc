// SPDX-License-Identifier: GPL-2.0
// The notes on tasks. The factors beside other partitions are those of docs/results/2026-11-23-h100.md, "Memory is
// shared": in halves of an H200 a sum of 1 GiB took 1.02 ms beside another one and 0.511 ms alone, a product of 4096 x
// 4096 9.70 ms beside a sum and 5.41 ms alone.
#include "gpulens/plan/plan.hpp"

#include <fmt/format.h>

namespace tool::plan {

namespace {

constexpr size_t MAX_NAMES = 8; // of tasks in a note

// Returns 'task "a"', 'tasks "a", "b"', or the first names and how many more there are; empty for no names.
std::string names_text(const std::vector<std::string> &names)
{
	std::string text = names.size() == 1 ? "task " : "tasks ";

	for (size_t i = 0; i < names.size() && i < MAX_NAMES; i++)
		text += fmt::format("{}\"{}\"", i ? ", " : "", names[i]);
	if (names.size() > MAX_NAMES)
		text += fmt::format(" and {} more", names.size() - MAX_NAMES);
	return names.empty() ? "" : text;
}

// Returns the names of the tasks for which has(task) is true.
template <typename Has> std::vector<std::string> names_of(const std::vector<Task> &tasks, Has has)
{
	std::vector<std::string> names;

	for (const Task &t : tasks)
		if (has(t))
			names.push_back(t.name);
	return names;
}

// Returns the names of the tasks beside which tasks of other partitions use memory, without a factor for that.
std::vector<std::string> names_without_beside(const Plan &plan)
{
	const std::vector<Task> &tasks = plan.file.tasks;
	auto count_memory = [&](const std::vector<u32> &members) {
		size_t n = 0;
		for (u32 i : members)
			n += tasks[i].kind == Class::Memory;
		return n;
	};
	std::vector<std::string> names;
	size_t all = 0;

	for (const Partition &p : plan.allocation().partitions)
		all += count_memory(p.tasks);
	for (const Partition &p : plan.allocation().partitions)
		for (u32 i : p.tasks)
			if (count_memory(p.tasks) < all && !tasks[i].beside_memory)
				names.push_back(tasks[i].name);
	return names;
}

} // namespace

std::vector<std::string> notes_on_tasks(const Plan &plan)
{
	const std::vector<Task> &tasks = plan.file.tasks;
	std::vector<std::string> notes;
	auto add = [&](const std::vector<std::string> &names, const std::string &text) {
		if (!names.empty())
			notes.push_back(names_text(names) + text);
	};

	add(names_of(tasks, [](const Task &t) { return !t.is_monotone(); }),
	    ": longer with more TPCs, so sizes are tried one by one");
	add(names_of(tasks, [](const Task &t) { return t.is_superlinear(); }),
	    ": faster by more than the TPCs grow, so Lemma 1 takes the size with the least TPCs times time");
	add(names_of(tasks, [](const Task &t) { return t.has_curve; }),
	    ": given by a_us and b_us; blocks come in waves, so that between measured sizes a job can take longer than "
	    "that curve, and then deadlines are missed (times_us, as gpulens fit prints them, are safe)");
	if (!plan.sharing.serial)
		add(names_of(tasks, [](const Task &t) { return t.assumed_conflict; }),
		    fmt::format(
			    ": the time in conflict is not given; {} (compute) and {} (memory) times the one alone is "
			    "assumed, as measured on an RTX 2080 Ti",
			    COMPUTE_CONFLICT, MEMORY_CONFLICT));
	if (plan.allocation().fits && !plan.sharing.separate_memory)
		add(names_without_beside(plan),
		    ": no factor beside memory tasks of other partitions is given (beside), and none is assumed; in "
		    "halves of an H200 2.0 (memory) and 1.8 (compute) were measured");
	if (has_kernels(plan.test))
		add(names_of(tasks, [](const Task &t) { return t.longest_ns.empty(); }),
		    ": longest_kernel_us is not given, so that a job is taken to be one kernel");
	if (plan.sharing.costs.any())
		notes.push_back(fmt::format(
			"test {} takes each task to be a program that another one holds and releases (gpulens "
			"schedule, "
			"gpulens run --slot); programs that share a partition then run on the whole GPU in turn",
			criterion_name(plan.test)));
	else if (plan.allocation().fits && is_preemptive(plan.test) &&
		 tasks.size() > plan.allocation().partitions.size())
		notes.push_back(
			fmt::format("test {} takes a job to be preempted at any time, which no program can do to "
				    "its own kernels; np-edf, np-dm, lp-edf, lp-dm and fifo preempt no kernel",
				    criterion_name(plan.test)));
	return notes;
}

} // namespace tool::plan
