// SPDX-License-Identifier: GPL-2.0
// See generate.hpp.
#include "gpulens/plan/generate.hpp"

#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

constexpr u32 MAX_DRAWINGS = 200000;
constexpr double UNIT_NS = 1000000;
constexpr double DEADLINE = 0.75;                            // of the period
constexpr double COMPUTE_SERIAL = 0.02, MEMORY_SERIAL = 0.1; // b of a
constexpr std::array<u32, 13> PERIODS = {50, 80, 100, 125, 160, 200, 250, 400, 500, 800, 1000, 2000, 4000};

// In [0, 1). The library's own distribution may differ from one to the next, and results are to be repeatable.
double uniform(std::mt19937_64 &random)
{
	return double(random() >> 11) / double(u64{1} << 53);
}

} // namespace

std::vector<double> uunifast_discard(std::mt19937_64 &random, u32 n, double total, double cap)
{
	if (cap > 0 && n * cap < total)
		throw BadInput(fmt::format("{} tasks of at most {} have no utilization of {}", n, cap, total));
	for (u32 drawing = 0; drawing < MAX_DRAWINGS; drawing++) {
		std::vector<double> u;
		double left = total;
		for (u32 i = 1; i < n; i++) {
			double next = left * std::pow(uniform(random), 1.0 / (n - i));
			u.push_back(left - next);
			left = next;
			if (cap > 0 && u.back() > cap)
				break;
		}
		u.push_back(left);
		if (u.size() == n && (cap <= 0 || *std::max_element(u.begin(), u.end()) <= cap))
			return u;
	}
	throw BadInput(fmt::format("{} tasks of at most {} are too rare for a utilization of {}", n, cap, total));
}

std::vector<Task> generate(std::mt19937_64 &random, const Generator &what)
{
	std::vector<Task> tasks;

	for (double u : uunifast_discard(random, what.tasks, what.utilization, what.cap)) {
		size_t at = std::min<size_t>(size_t(uniform(random) * PERIODS.size()), PERIODS.size() - 1);
		while (at + 1 < PERIODS.size() && u * PERIODS[at] < 1)
			at++;
		Task t;
		t.name = std::to_string(tasks.size());
		t.kind = uniform(random) > what.memory ? Class::Compute : Class::Memory;
		t.period_ns = static_cast<u64>(PERIODS[at] * UNIT_NS);
		t.deadline_ns = static_cast<u64>(DEADLINE * PERIODS[at] * UNIT_NS);
		double a = u * PERIODS[at] * UNIT_NS;
		double b =
			(t.kind == Class::Memory ? MEMORY_SERIAL : COMPUTE_SERIAL) * a / (what.literal ? 1 : what.tpcs);
		t.alone_ns = amdahl_curve(a, b, 1, what.tpcs);
		t.conflict_ns =
			amdahl_curve(a, b, t.kind == Class::Memory ? MEMORY_CONFLICT : COMPUTE_CONFLICT, what.tpcs);
		tasks.push_back(std::move(t));
	}
	return tasks;
}

} // namespace tool::plan
