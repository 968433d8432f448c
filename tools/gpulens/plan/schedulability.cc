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

// Returns whether the sum of c / divisor is at most 1, exactly: adds fractions over the least common multiple. Gives up
// if the multiple is too large.
Verdict judge_exact_sum(std::span<const Job> jobs, u64 Job::*divisor)
{
	u128 common = 1, sum = 0;

	for (const Job &j : jobs) {
		u64 d = j.*divisor;
		common *= d / std::gcd(static_cast<u64>(common % d), d);
		if (common > u128{1} << 60)
			return Verdict::GaveUp;
	}
	for (const Job &j : jobs)
		sum += j.c * (common / (j.*divisor));
	return sum <= common ? Verdict::Meets : Verdict::Misses;
}

// Returns whether the sum is at most 1. sum: of c / divisor as a double, which decides unless it is close to 1.
Verdict judge_sum(std::span<const Job> jobs, double sum, u64 Job::*divisor)
{
	if (std::abs(sum - 1) > ROUNDING_ERROR)
		return sum < 1 ? Verdict::Meets : Verdict::Misses;
	return judge_exact_sum(jobs, divisor);
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
Verdict judge_demand(std::span<const Job> jobs, u64 from, u64 to, u64 blocked)
{
	u64 t = last_deadline(jobs, to);

	for (u32 step = 0; t && t >= from; step++) {
		u64 wanted = compute_demand(jobs, t) + blocked;
		if (wanted > t)
			return Verdict::Misses;
		if (step > MAX_STEPS)
			return Verdict::GaveUp;
		t = last_deadline(jobs, std::min(wanted, t - 1));
	}
	return Verdict::Meets;
}

// Adds up jobs with the same deadline and period, whose demand is that of a single job with their times together. Their
// utilization is at most 1, which keeps the sum within 64 bits.
std::vector<Job> join_alike(std::span<const Job> jobs)
{
	std::vector<Job> sorted(jobs.begin(), jobs.end()), joined;
	auto is_before = [](const Job &a, const Job &b) { return a.d != b.d ? a.d < b.d : a.t < b.t; };

	std::sort(sorted.begin(), sorted.end(), is_before);
	for (const Job &j : sorted)
		if (joined.empty() || is_before(joined.back(), j))
			joined.push_back(j);
		else
			joined.back().c += j.c;
	return joined;
}

Verdict judge_edf(std::span<const Job> jobs)
{
	double load = utilization(jobs);

	if (sum_density(jobs) < 1 - ROUNDING_ERROR)
		return Verdict::Meets;
	if (Verdict sum = judge_sum(jobs, load, &Job::t); sum != Verdict::Meets)
		return sum;
	std::vector<Job> joined = join_alike(jobs);
	// Most sets that fail do so at a first deadline.
	for (const Job &j : joined)
		if (compute_demand(joined, j.d) > j.d)
			return Verdict::Misses;
	u64 to = find_horizon(joined, load);
	return to ? judge_demand(joined, 1, to, 0) : Verdict::GaveUp;
}

// Returns the time for which a job blocks others that it must not be preempted by.
u64 blocking_of(const Job &j)
{
	return std::min(j.longest, j.c);
}

// At each time before the latest relative deadline, a kernel with a later deadline may just have begun, and blocks.
Verdict judge_blocked_edf(std::span<const Job> jobs)
{
	std::vector<Job> by_deadline(jobs.begin(), jobs.end());
	u64 blocked = 0;

	if (Verdict unblocked = judge_edf(jobs); unblocked != Verdict::Meets)
		return unblocked;
	std::vector<Job> joined = join_alike(jobs);
	std::sort(by_deadline.begin(), by_deadline.end(), [](const Job &a, const Job &b) { return a.d > b.d; });
	for (size_t i = 0; i + 1 < by_deadline.size(); i++) {
		blocked = std::max(blocked, blocking_of(by_deadline[i]));
		u64 from = by_deadline[i + 1].d, to = by_deadline[i].d - 1;
		if (from > to)
			continue;
		if (Verdict met = judge_demand(joined, from, to, blocked); met != Verdict::Meets)
			return met;
	}
	return Verdict::Meets;
}

// Judges the task `own` by its response time, which is at least its time and `blocked`.
Verdict judge_response(std::span<const Job> higher, const Job &own, u64 blocked)
{
	u64 response = own.c + blocked, before = 0;

	for (u32 step = 0; response != before && response <= own.d; step++) {
		if (step > MAX_STEPS)
			return Verdict::GaveUp;
		before = response;
		response = own.c + blocked;
		for (const Job &j : higher)
			response += (before + j.t - 1) / j.t * j.c;
	}
	return response <= own.d ? Verdict::Meets : Verdict::Misses;
}

// Returns the length of the busy period of a task and those of a higher priority, 0 if that takes too many steps.
u64 find_busy_period(std::span<const Job> higher, const Job &own, u64 blocked)
{
	u64 length = 0, next = blocked + own.c;

	for (u32 step = 0; next != length; step++) {
		if (step > MAX_STEPS || next > MAX_LENGTH)
			return 0;
		length = next;
		next = blocked + (length + own.t - 1) / own.t * own.c;
		for (const Job &j : higher)
			next += (length + j.t - 1) / j.t * j.c;
	}
	return length;
}

/*
 * Judges the task `own`, whose jobs are not preempted: when does each job of the busy period start? The blocking kernel
 * begins a moment before the others are released, so a job that is released at the time of the start comes too late. If
 * there is no such kernel, it comes first.
 */
Verdict judge_starts(std::span<const Job> higher, const Job &own, u64 blocked)
{
	u64 jobs = 1;
	u32 step = 0;

	for (u64 k = 0; k < jobs; k++) {
		u64 release = k * own.t, start = blocked + k * own.c, before = ~0ULL;
		while (start != before) {
			if (start + own.c > release + own.d)
				return Verdict::Misses;
			if (++step > MAX_STEPS)
				return Verdict::GaveUp;
			before = start;
			start = blocked + k * own.c;
			for (const Job &j : higher)
				start += (blocked ? (before + j.t - 1) / j.t : before / j.t + 1) * j.c;
		}
		if (k == 0) {
			u64 busy = find_busy_period(higher, own, blocked);
			if (!busy)
				return Verdict::GaveUp;
			jobs = (busy + own.t - 1) / own.t;
		}
	}
	return Verdict::Meets;
}

// Job::longest of 0: preemptive, because such kernels block nothing. least_blocked: for which each job waits at least.
Verdict judge_deadline_monotonic(std::span<const Job> jobs, u64 least_blocked = 0)
{
	std::vector<Job> by_priority(jobs.begin(), jobs.end());
	std::vector<u64> blocked(jobs.size(), least_blocked);

	if (judge_sum(jobs, utilization(jobs), &Job::t) == Verdict::Misses)
		return Verdict::Misses;
	std::stable_sort(by_priority.begin(), by_priority.end(), [](const Job &a, const Job &b) { return a.d < b.d; });
	for (size_t i = by_priority.size(); i-- > 1;)
		blocked[i - 1] = std::max(blocked[i], blocking_of(by_priority[i]));
	for (size_t i = 0; i < by_priority.size(); i++) {
		std::span<const Job> higher(by_priority.data(), i);
		const Job &own = by_priority[i];
		Verdict met = own.longest < own.c ? judge_response(higher, own, blocked[i])
						  : judge_starts(higher, own, blocked[i]);
		if (met != Verdict::Meets)
			return met;
	}
	return Verdict::Meets;
}

// Returns the jobs with another longest kernel.
std::vector<Job> with_longest(std::span<const Job> jobs, u64 longest)
{
	std::vector<Job> changed(jobs.begin(), jobs.end());

	for (Job &j : changed)
		j.longest = longest;
	return changed;
}

// Returns whether the jobs of all tasks, one after another, end within the shortest deadline.
Verdict judge_fifo(std::span<const Job> jobs)
{
	u64 sum = 0, least = ~0ULL;

	for (const Job &j : jobs) {
		sum += j.c;
		least = std::min(least, j.d);
	}
	return sum <= least ? Verdict::Meets : Verdict::Misses;
}

// Returns the jobs with the time of each longer by `more`.
std::vector<Job> with_more(std::span<const Job> jobs, u64 more)
{
	std::vector<Job> changed(jobs.begin(), jobs.end());

	for (Job &j : changed)
		j.c += more;
	return changed;
}

// Blocking at each time is the same as all deadlines earlier by it: the demand by t + blocked is at most t.
Verdict judge_edf_with_blocking(std::vector<Job> jobs, u64 blocked)
{
	for (Job &j : jobs) {
		if (j.c + blocked > j.d)
			return Verdict::Misses;
		j.d -= blocked;
	}
	return judge_edf(jobs);
}

} // namespace

double utilization(std::span<const Job> jobs)
{
	return std::accumulate(jobs.begin(), jobs.end(), 0.0,
			       [](double sum, const Job &j) { return sum + double(j.c) / double(j.t); });
}

Verdict judge(Criterion test, std::span<const Job> jobs, const Costs &costs)
{
	if (costs.any()) {
		u64 blocked = costs.control + costs.switching;
		if (test == Criterion::Edf)
			return judge_edf_with_blocking(with_more(jobs, blocked + costs.switching), blocked);
		std::vector<Job> longer = with_more(jobs, is_preemptive(test) ? blocked + costs.switching : blocked);
		if (test != Criterion::Dm)
			return judge(test, longer);
		return std::any_of(longer.begin(), longer.end(), [](const Job &j) { return j.c > j.d; })
			       ? Verdict::Misses
			       : judge_deadline_monotonic(with_longest(longer, 0), blocked);
	}
	// This also keeps the sums below within 64 bits.
	if (std::any_of(jobs.begin(), jobs.end(), [](const Job &j) { return j.c > j.d; }))
		return Verdict::Misses;
	switch (test) {
	case Criterion::Edf: return judge_edf(jobs);
	case Criterion::Dm: return judge_deadline_monotonic(with_longest(jobs, 0));
	case Criterion::Density: return judge_sum(jobs, sum_density(jobs), &Job::d);
	case Criterion::NpEdf: return judge_blocked_edf(with_longest(jobs, WHOLE_JOB));
	case Criterion::NpDm: return judge_deadline_monotonic(with_longest(jobs, WHOLE_JOB));
	case Criterion::LpEdf: return judge_blocked_edf(jobs);
	case Criterion::LpDm: return judge_deadline_monotonic(jobs);
	case Criterion::Fifo: return judge_fifo(jobs);
	}
	return Verdict::Misses;
}

bool is_preemptive(Criterion test)
{
	return test == Criterion::Edf || test == Criterion::Dm || test == Criterion::Density;
}

bool has_kernels(Criterion test)
{
	return test == Criterion::LpEdf || test == Criterion::LpDm;
}

bool counts_costs(Criterion test)
{
	return test != Criterion::Density && !has_kernels(test);
}

const char *criterion_name(Criterion test)
{
	switch (test) {
	case Criterion::Edf: return "edf";
	case Criterion::Dm: return "dm";
	case Criterion::Density: return "density";
	case Criterion::NpEdf: return "np-edf";
	case Criterion::NpDm: return "np-dm";
	case Criterion::LpEdf: return "lp-edf";
	case Criterion::LpDm: return "lp-dm";
	case Criterion::Fifo: return "fifo";
	}
	return "";
}

} // namespace tool::plan
