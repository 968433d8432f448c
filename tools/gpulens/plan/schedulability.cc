// SPDX-License-Identifier: GPL-2.0
// See schedulability.hpp.
#include "gpulens/plan/schedulability.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tool::plan {

namespace {

using u128 = unsigned __int128;

constexpr double ROUNDING = 1e-9;        // what sums of doubles are trusted to
constexpr u64 MAX_LENGTH = u64{1} << 60; // ns; the longest stretch that is looked at
constexpr u32 MAX_STEPS = 1000000;       // of one fixed point

double density(std::span<const Job> jobs)
{
	return std::accumulate(jobs.begin(), jobs.end(), 0.0,
			       [](double sum, const Job &j) { return sum + double(j.c) / double(j.d); });
}

// Sum of c / (what) <= 1, exactly, as a fraction over the least common multiple; false where that is too large.
bool at_most_one(std::span<const Job> jobs, u64 Job::*what)
{
	u128 common = 1, sum = 0;

	for (const Job &j : jobs) {
		u64 d = j.*what;
		common *= d / std::gcd(static_cast<u64>(common % d), d);
		if (common > u128{1} << 60)
			return false;
	}
	for (const Job &j : jobs)
		sum += j.c * (common / (j.*what));
	return sum <= common;
}

bool sum_at_most_one(std::span<const Job> jobs, double sum, u64 Job::*what)
{
	if (std::abs(sum - 1) > ROUNDING)
		return sum < 1;
	return at_most_one(jobs, what);
}

// What must be done by t when all start together.
u64 demand(std::span<const Job> jobs, u64 t)
{
	u64 sum = 0;

	for (const Job &j : jobs)
		if (t >= j.d)
			sum += ((t - j.d) / j.t + 1) * j.c;
	return sum;
}

// The last deadline at or before t; 0: none.
u64 last_deadline(std::span<const Job> jobs, u64 t)
{
	u64 last = 0;

	for (const Job &j : jobs)
		if (t >= j.d)
			last = std::max(last, j.d + (t - j.d) / j.t * j.t);
	return last;
}

// No deadline after this is missed first; 0: too far away to be told. Utilization is at most 1.
u64 horizon(std::span<const Job> jobs, double load)
{
	double slack = 0;

	for (const Job &j : jobs)
		slack += double(j.t - j.d) * (double(j.c) / double(j.t));
	// Demand is at most load * t + slack.
	if (load < 1 - ROUNDING && slack / (1 - load) < double(MAX_LENGTH))
		return static_cast<u64>(slack / (1 - load) * (1 + ROUNDING)) + 1;
	// The stretch of work that begins with all of them together.
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
 * QPA over the deadlines from `from` up to `to`: is demand(t) + blocked <= t at each? From the last one down; what is
 * demanded by t is enough for every deadline between that much and t.
 */
bool demand_is_met(std::span<const Job> jobs, u64 from, u64 to, u64 blocked)
{
	u64 t = last_deadline(jobs, to);

	for (u32 step = 0; t && t >= from; step++) {
		u64 wanted = demand(jobs, t) + blocked;
		if (wanted > t || step > MAX_STEPS)
			return false;
		t = last_deadline(jobs, std::min(wanted, t - 1));
	}
	return true;
}

bool edf(std::span<const Job> jobs)
{
	double load = utilization(jobs);

	if (density(jobs) < 1 - ROUNDING)
		return true;
	if (!sum_at_most_one(jobs, load, &Job::t))
		return false;
	u64 to = horizon(jobs, load);
	return to && demand_is_met(jobs, 1, to, 0);
}

// Before the longest deadline of all, a kernel with a later one may have just begun.
bool np_edf(std::span<const Job> jobs)
{
	std::vector<Job> by_deadline(jobs.begin(), jobs.end());
	u64 blocked = 0;

	if (!edf(jobs))
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

bool deadline_monotonic(std::span<const Job> jobs)
{
	std::vector<Job> by_priority(jobs.begin(), jobs.end());

	if (!sum_at_most_one(jobs, utilization(jobs), &Job::t))
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
	// Also keeps sums below within 64 bits.
	if (std::any_of(jobs.begin(), jobs.end(), [](const Job &j) { return j.c > j.d; }))
		return false;
	switch (test) {
	case Criterion::Edf: return edf(jobs);
	case Criterion::Dm: return deadline_monotonic(jobs);
	case Criterion::Density: return sum_at_most_one(jobs, density(jobs), &Job::d);
	case Criterion::NpEdf: return np_edf(jobs);
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
