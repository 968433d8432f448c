// SPDX-License-Identifier: GPL-2.0
// Draws utilizations, periods and classes, and computes the tasks' curves.
#include "lab/evaluate/generate.hpp"

#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

constexpr u32 MAX_ATTEMPTS = 200000;
constexpr double UNIT_NS = 1000000;

// Returns a number in [0, 1). Not std::uniform_real_distribution, whose results differ between standard libraries.
double draw_uniform(std::mt19937_64 &random)
{
	return double(random() >> 11) / double(u64{1} << 53);
}

} // namespace

std::vector<double> uunifast_discard(std::mt19937_64 &random, u32 n, double total, double cap)
{
	if (cap > 0 && n * cap < total)
		throw Error(
			Error::Input,
			fmt::format("{} tasks with a utilization of at most {} cannot have a total utilization of {}",
				    n, cap, total));
	for (u32 attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
		std::vector<double> u;
		double left = total;
		for (u32 i = 1; i < n; i++) {
			double next = left * std::pow(draw_uniform(random), 1.0 / (n - i));
			u.push_back(left - next);
			left = next;
			if (cap > 0 && u.back() > cap)
				break;
		}
		u.push_back(left);
		if (u.size() == n && (cap <= 0 || *std::max_element(u.begin(), u.end()) <= cap))
			return u;
	}
	throw Error(Error::Input,
		    fmt::format("{} tasks with a utilization of at most {} hardly ever have a total utilization of {}",
				n, cap, total));
}

std::vector<Task> generate(std::mt19937_64 &random, const Generator &generator)
{
	const std::vector<double> &periods = generator.periods;
	std::vector<Task> tasks;

	for (double u : uunifast_discard(random, generator.tasks, generator.utilization, generator.cap)) {
		size_t period = std::min(size_t(draw_uniform(random) * double(periods.size())), periods.size() - 1);
		while (period + 1 < periods.size() && u * periods[period] < 1)
			period++;
		Task t;
		t.name = std::to_string(tasks.size());
		t.kind = draw_uniform(random) > generator.memory ? Class::Compute : Class::Memory;
		t.period_ns = static_cast<u64>(periods[period] * UNIT_NS);
		t.deadline_ns = static_cast<u64>(generator.deadline * periods[period] * UNIT_NS);
		double a = u * periods[period] * UNIT_NS;
		size_t kind = t.kind == Class::Memory;
		double b = generator.serial[kind] * a / (generator.literal ? 1 : generator.tpcs);
		if (generator.no_serial)
			b = 0;
		t.alone_ns = amdahl_curve(a, b, 1, generator.tpcs);
		t.conflict_ns = amdahl_curve(a, b, generator.conflict[kind], generator.tpcs);
		tasks.push_back(std::move(t));
	}
	return tasks;
}

} // namespace tool::plan
