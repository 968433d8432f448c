// SPDX-License-Identifier: GPL-2.0
// Draws utilizations, periods and classes, and computes the tasks' curves.
#include "lab/evaluate/generate.hpp"

#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

constexpr u32 MAX_ATTEMPTS = 200000;
constexpr double UNIT_NS = 1000000;
constexpr double DEADLINE_SHARE = 0.75;                      // of the period
constexpr double COMPUTE_SERIAL = 0.02, MEMORY_SERIAL = 0.1; // b / a
constexpr std::array<u32, 13> PERIOD_UNITS = {50, 80, 100, 125, 160, 200, 250, 400, 500, 800, 1000, 2000, 4000};

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
	std::vector<Task> tasks;

	for (double u : uunifast_discard(random, generator.tasks, generator.utilization, generator.cap)) {
		size_t period =
			std::min<size_t>(size_t(draw_uniform(random) * PERIOD_UNITS.size()), PERIOD_UNITS.size() - 1);
		while (period + 1 < PERIOD_UNITS.size() && u * PERIOD_UNITS[period] < 1)
			period++;
		Task t;
		t.name = std::to_string(tasks.size());
		t.kind = draw_uniform(random) > generator.memory ? Class::Compute : Class::Memory;
		t.period_ns = static_cast<u64>(PERIOD_UNITS[period] * UNIT_NS);
		t.deadline_ns = static_cast<u64>(DEADLINE_SHARE * PERIOD_UNITS[period] * UNIT_NS);
		double a = u * PERIOD_UNITS[period] * UNIT_NS;
		double b = (t.kind == Class::Memory ? MEMORY_SERIAL : COMPUTE_SERIAL) * a /
			   (generator.literal ? 1 : generator.tpcs);
		if (generator.no_serial)
			b = 0;
		t.alone_ns = amdahl_curve(a, b, 1, generator.tpcs);
		t.conflict_ns = amdahl_curve(a, b, t.kind == Class::Memory ? MEMORY_CONFLICT : COMPUTE_CONFLICT,
					     generator.tpcs);
		tasks.push_back(std::move(t));
	}
	return tasks;
}

} // namespace tool::plan
