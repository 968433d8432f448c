// SPDX-License-Identifier: GPL-2.0
// The schedulability tests.
#include "gpulens/plan/schedulability.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tool::plan {

namespace {

using u128 = unsigned __int128;

constexpr double ROUNDING_ERROR = 1e-9;  // of sums of doubles
constexpr u64 MAX_LENGTH = u64{1} << 60; // ns; longest busy period that is examined
constexpr u32 MAX_STEPS = 1000000;       // of one fixed-point iteration

double sum_density(std::span<const Job> jobs)
{
	return std::accumulate(jobs.begin(), jobs.end(), 0.0,
			       [](double sum, const Job &j) { return sum + double(j.c) / double(j.d); });
}

// Returns whether the sum of c / divisor is at most 1, exactly: adds fractions over the least common multiple. Returns
// false if the multiple is too large.
bool is_at_most_one(std::span<const Job> jobs, u64 Job::*divisor)
{
	u128 common = 1, sum = 0;

	for (const Job &j : jobs) {
		u64 d = j.*divisor;
		common *= d / std::gcd(static_cast<u64>(common % d), d);
		if (common > u128{1} << 60)
			return false;
	}
	for (const Job &j : jobs)
		sum += j.c * (common / (j.*divisor));
	return sum <= common;
}

// sum: the sum of c / divisor as a double, which decides unless it is close to 1.
bool is_sum_at_most_one(std::span<const Job> jobs, double sum, u64 Job::*divisor)
{
	if (std::abs(sum - 1) > ROUNDING_ERROR)
		return sum < 1;
	return is_at_most_one(jobs, divisor);
}

// Returns the processor demand: the work that must be done by t if all tasks start together, ns.
u64 compute_demand(std::span<const Job> jobs, u64 t)
{
	u64 sum = 0;

	for (const Job &j : jobs)
		if (t >= j.d)
			sum += ((t - j.d) / j.t + 1) * j.c;
	return sum;
}

// Returns the last deadline that is not after t, 0 if there is none.
u64 last_deadline(std::span<const Job> jobs, u64 t)
{
	u64 last = 0;

	for (const Job &j : jobs)
		if (t >= j.d)
			last = std::max(last, j.d + (t - j.d) / j.t * j.t);
	return last;
}

// Returns the time up to which deadlines must be tested: the first missed deadline is not later. 0 if that is too far
// away. load: the utilization, at most 1.
u64 find_horizon(std::span<const Job> jobs, double load)
{
	double slack = 0;

	for (const Job &j : jobs)
		slack += double(j.t - j.d) * (double(j.c) / double(j.t));
	// Demand is at most load * t + slack.
	if (load < 1 - ROUNDING_ERROR && slack / (1 - load) < double(MAX_LENGTH))
		return static_cast<u64>(slack / (1 - load) * (1 + ROUNDING_ERROR)) + 1;
	// The length of the busy period that begins when all tasks start together.
	u64 length = 0, next = 1;
	for (u32 step = 0; next != length; step++) {
		if (step > MAX_STEPS || next > MAX_LENGTH)
			return 0;
		length = next;
		next = 0;
		for (const Job &j : jobs)
			next += (length + j.t - 1) / j.t * j.c;
	}
	return length;
}

/*
 * Returns whether compute_demand(t) + blocked <= t for all deadlines t in [from, to]. QPA starts with the last deadline.
 * The demand at t bounds the demand at all earlier deadlines, so those between demand(t) and t are met and are skipped.
 */
bool demand_is_met(std::span<const Job> jobs, u64 from, u64 to, u64 blocked)
{
	u64 t = last_deadline(jobs, to);

	for (u32 step = 0; t && t >= from; step++) {
		u64 wanted = compute_demand(jobs, t) + blocked;
		if (wanted > t || step > MAX_STEPS)
			return false;
		t = last_deadline(jobs, std::min(wanted, t - 1));
	}
	return true;
}

bool test_edf(std::span<const Job> jobs)
{
	double load = utilization(jobs);

	if (sum_density(jobs) < 1 - ROUNDING_ERROR)
		return true;
	if (!is_sum_at_most_one(jobs, load, &Job::t))
		return false;
	u64 to = find_horizon(jobs, load);
	return to && demand_is_met(jobs, 1, to, 0);
}

// At each time before the latest relative deadline, a kernel with a later deadline may just have begun, and blocks.
bool test_np_edf(std::span<const Job> jobs)
{
	std::vector<Job> by_deadline(jobs.begin(), jobs.end());
	u64 blocked = 0;

	if (!test_edf(jobs))
		return false;
	std::sort(by_deadline.begin(), by_deadline.end(), [](const Job &a, const Job &b) { return a.d > b.d; });
	for (size_t i = 0; i + 1 < by_deadline.size(); i++) {
		blocked = std::max(blocked, by_deadline[i].c);
		u64 from = by_deadline[i + 1].d, to = by_deadline[i].d - 1;
		if (from <= to && !demand_is_met(jobs, from, to, blocked))
			return false;
	}
	return true;
}

bool test_deadline_monotonic(std::span<const Job> jobs)
{
	std::vector<Job> by_priority(jobs.begin(), jobs.end());

	if (!is_sum_at_most_one(jobs, utilization(jobs), &Job::t))
		return false;
	std::sort(by_priority.begin(), by_priority.end(), [](const Job &a, const Job &b) { return a.d < b.d; });
	for (size_t i = 0; i < by_priority.size(); i++) {
		const Job &own = by_priority[i];
		u64 response = own.c, before = 0;
		for (u32 step = 0; response != before && response <= own.d; step++) {
			if (step > MAX_STEPS)
				return false;
			before = response;
			response = own.c;
			for (size_t k = 0; k < i; k++)
				response += (before + by_priority[k].t - 1) / by_priority[k].t * by_priority[k].c;
		}
		if (response > own.d)
			return false;
	}
	return true;
}

} // namespace

double utilization(std::span<const Job> jobs)
{
	return std::accumulate(jobs.begin(), jobs.end(), 0.0,
			       [](double sum, const Job &j) { return sum + double(j.c) / double(j.t); });
}

bool schedulable(Criterion test, std::span<const Job> jobs)
{
	// This also keeps the sums below within 64 bits.
	if (std::any_of(jobs.begin(), jobs.end(), [](const Job &j) { return j.c > j.d; }))
		return false;
	switch (test) {
	case Criterion::Edf: return test_edf(jobs);
	case Criterion::Dm: return test_deadline_monotonic(jobs);
	case Criterion::Density: return is_sum_at_most_one(jobs, sum_density(jobs), &Job::d);
	case Criterion::NpEdf: return test_np_edf(jobs);
	}
	return false;
}

const char *criterion_name(Criterion test)
{
	switch (test) {
	case Criterion::Edf: return "edf";
	case Criterion::Dm: return "dm";
	case Criterion::Density: return "density";
	case Criterion::NpEdf: return "np-edf";
	}
	return "";
}

} // namespace tool::plan
