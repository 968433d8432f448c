// SPDX-License-Identifier: GPL-2.0
// Tasks as the planner sees them: periodic GPU work whose time depends on how many TPCs it has and on who else is
// there.
//
// The model is that of J. Singh, "Toward Predictable Execution of Real-Time Workloads on Modern GPUs" (MS thesis,
// University of Illinois, 2021), sections 3.3.2 and 3.4.2: a task has a period T, a deadline D <= T, a class, and two
// curves over the size m of its partition: C^n(m) alone, and C^c(m) with another task of its own class beside it, which
// it is in conflict with. The thesis counts SMs; what NVIDIA's hardware can mask is TPCs, so that m counts those here.
//
// Decisions of this project: times are whole nanoseconds, rounded up, so that tests of schedulability are exact; D may
// not exceed T, which all tests here rely on; a curve that was only measured at some sizes keeps the time of the next
// smaller one in between, and is never there below the smallest.
#pragma once
#include "gpulens/gpu.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool::plan {

enum class Class { Compute, Memory };

constexpr u64 NEVER = ~0ULL;                  // a time: not possible with so few TPCs
constexpr u64 MAX_TIME_NS = 1000000000000000; // of periods and deadlines, 11 days: keeps sums within 64 bits
constexpr u32 MAX_TASKS = 1000;
constexpr u32 MAX_TPCS = 1024; // of a GPU; no chip has a fifth of it

// Of the thesis' regression (section 3.6.1) over four kernels on an RTX 2080 Ti: how much longer a task takes in
// conflict, where nobody measured it.
constexpr double COMPUTE_CONFLICT = 1.2, MEMORY_CONFLICT = 2.3;

struct Task {
	std::string name;
	u64 period_ns = 0, deadline_ns = 0;
	Class kind = Class::Compute;
	std::vector<u64> alone_ns, conflict_ns; // [m - 1]: with m TPCs, for each size that the GPU allows
	bool assumed_conflict = false;          // conflict_ns comes of the thesis' factors

	u64 time_ns(u32 tpcs, bool conflict) const { return (conflict ? conflict_ns : alone_ns)[tpcs - 1]; }
	// Does no size take longer than a smaller one? The thesis assumes it (section 3.4.1).
	bool is_monotone() const;
	// Is some size so fast that m * C(m) falls? Then C(1) / T is more than the task needs of the GPU, and Lemma 1
	// as it is printed would refuse what is possible.
	bool is_superlinear() const;
};

// To whole nanoseconds, at least 1; NEVER beyond MAX_TIME_NS. What a double is off by, 0.0001, makes no nanosecond.
u64 round_up(double ns);
// factor * (a / m + b), rounded up to a nanosecond, for m from 1 to tpcs. a, b >= 0, in nanoseconds.
std::vector<u64> amdahl_curve(double a_ns, double b_ns, double factor, u32 tpcs);
// Of measured times by size.
std::vector<u64> measured_curve(const std::map<u32, u64> &ns_by_size, u32 tpcs);

// Which tasks of a partition are in conflict: those of a class that has two or more there.
struct Conflicts {
	Conflicts(std::span<const Task> tasks, std::span<const u32> in);
	bool of(const Task &t) const { return t.kind == Class::Memory ? memory : compute; }
	bool compute, memory;
};

const char *class_name(Class kind);

} // namespace tool::plan
