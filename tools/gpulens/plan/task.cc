// SPDX-License-Identifier: GPL-2.0
// Computes the curves of tasks, and their properties.
#include "gpulens/plan/task.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

bool is_decreasing(const std::vector<u64> &ns)
{
	return std::is_sorted(ns.rbegin(), ns.rend());
}

// Returns whether m * C(m) falls. Skips sizes with the time of the next smaller size, which were not measured, and
// ignores one nanosecond, the rounding error of a time.
bool has_falling_area(const std::vector<u64> &ns)
{
	u64 most = 0;

	for (size_t i = 0; i < ns.size(); i++) {
		if (ns[i] == NEVER || (i && ns[i] == ns[i - 1]))
			continue;
		if ((ns[i] + 1) * (i + 1) < most)
			return true;
		most = std::max(most, ns[i] * (i + 1));
	}
	return false;
}

} // namespace

std::string us_text(u64 ns)
{
	return ns == NEVER ? "-" : fmt::format("{:.3f}", static_cast<double>(ns) / 1000);
}

u64 round_up(double ns)
{
	double t = std::ceil(ns - 1e-4);

	return t > static_cast<double>(MAX_TIME_NS) ? NEVER : static_cast<u64>(std::max(t, 1.0));
}

bool Task::is_monotone() const
{
	return is_decreasing(alone_ns) && is_decreasing(conflict_ns) && is_decreasing(longest_ns);
}

bool Task::is_superlinear() const
{
	return has_falling_area(alone_ns);
}

std::vector<u64> amdahl_curve(double a_ns, double b_ns, double factor, u32 tpcs)
{
	std::vector<u64> ns(tpcs);

	for (u32 m = 1; m <= tpcs; m++) {
		ns[m - 1] = round_up(factor * (a_ns / m + b_ns));
	}
	return ns;
}

std::vector<u64> measured_curve(const std::map<u32, u64> &ns_by_size, u32 tpcs)
{
	std::vector<u64> ns(tpcs, NEVER);
	u64 last = NEVER;

	for (u32 m = 1; m <= tpcs; m++) {
		auto at = ns_by_size.find(m);
		if (at != ns_by_size.end())
			last = at->second;
		ns[m - 1] = last;
	}
	return ns;
}

double beside_factor(const Task &task, const Situation &situation)
{
	return (situation.beside_memory ? task.beside_memory.value_or(1) : 1) *
	       (situation.beside_compute ? task.beside_compute.value_or(1) : 1);
}

u64 time_in(const Task &task, u32 tpcs, const Situation &situation)
{
	bool conflict = task.kind == Class::Memory ? situation.memory_conflict : situation.compute_conflict;
	u64 ns = task.time_ns(tpcs, conflict);
	double factor = beside_factor(task, situation);

	return ns == NEVER || factor == 1 ? ns : round_up(double(ns) * factor);
}

u64 longest_kernel_in(const Task &task, u32 tpcs, const Situation &situation)
{
	u64 whole = time_in(task, tpcs, situation), alone = task.alone_ns[tpcs - 1];

	if (task.longest_ns.empty() || whole == NEVER || task.longest_ns[tpcs - 1] == NEVER)
		return whole;
	// A kernel takes longer by the same factor as its job.
	double factor = double(whole) / double(alone);
	return std::min(whole, round_up(double(task.longest_ns[tpcs - 1]) * factor));
}

Conflicts::Conflicts(std::span<const Task> tasks, std::span<const u32> members)
{
	auto memories =
		std::count_if(members.begin(), members.end(), [&](u32 i) { return tasks[i].kind == Class::Memory; });

	memory = memories > 1;
	compute = static_cast<long>(members.size()) - memories > 1;
}

const char *class_name(Class kind)
{
	return kind == Class::Memory ? "memory" : "compute";
}

} // namespace tool::plan
