// SPDX-License-Identifier: GPL-2.0
// The planner's model of a task: periodic GPU work whose execution time depends on the number of TPCs and on the other
// tasks in its partition.
//
// The model is that of J. Singh, "Toward Predictable Execution of Real-Time Workloads on Modern GPUs" (MS thesis,
// University of Illinois, 2021), sections 3.3.2 and 3.4.2. A task has a period T, a deadline D <= T, a class, and two
// curves over the size m of its partition: C^n(m) alone, and C^c(m) in conflict, which means that another task of its
// class is in the partition. The thesis counts SMs; here m counts TPCs, because NVIDIA's hardware masks TPCs.
//
// Partitions of TPCs share the L2 cache and memory. Beside a task of another partition a task takes longer by a factor,
// which depends on the class of the other one (`beside`).
//
// Decisions of this project: times are whole nanoseconds, rounded up, so that schedulability tests are exact. D must
// not exceed T, because all tests rely on that. For a size that was not measured, a curve has the time of the next
// smaller measured size; below the smallest measured size it has NEVER.
#pragma once
#include "gpulens/gpu.h"
#include "lib/turns/plan_file.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool::plan {

enum class Class { Compute, Memory };

constexpr u64 NEVER = ~0ULL;                  // a time: the task cannot run with so few TPCs
constexpr u64 MAX_TIME_NS = 1000000000000000; // of periods and deadlines; 11 days keep sums within 64 bits
// Returns "1234.567" for 1234567 ns, and "-" for NEVER.
std::string us_text(u64 ns);
constexpr double MIN_US = 0.001, MAX_US = static_cast<double>(MAX_TIME_NS) / 1000; // of times in files

// Default ratio of the times in conflict and alone, by class: the thesis' regression (section 3.6.1) over four kernels
// on an RTX 2080 Ti.
constexpr double COMPUTE_CONFLICT = 1.2, MEMORY_CONFLICT = 2.3;

struct Task {
	std::string name;
	u64 period_ns = 0, deadline_ns = 0; // of GPU work: least separation, and from when it is ready
	u64 jitter_ns = 0;                  // by which the period of the jobs is longer
	Class kind = Class::Compute;
	std::vector<u64> alone_ns, conflict_ns; // element m - 1: with m TPCs, for each m up to the GPU's TPCs
	bool assumed_conflict = false;          // conflict_ns is computed from the default ratios
	std::vector<u64> longest_ns;            // longest kernel alone, likewise by size; empty: a job is one kernel
	bool has_curve = false;                 // a and b were given, and no times
	// Factors of all times while tasks of that class are in other partitions; nothing: not given.
	std::optional<double> beside_compute, beside_memory;

	u64 time_ns(u32 tpcs, bool conflict) const { return (conflict ? conflict_ns : alone_ns)[tpcs - 1]; }
	// Returns whether no size takes longer than a smaller one, as the thesis assumes (section 3.4.1).
	bool is_monotone() const;
	// Returns whether m * C(m) falls somewhere. The task then needs less of the GPU than C(1) / T, and Lemma 1 as
	// printed would reject feasible sets.
	bool is_superlinear() const;
};

// Rounds up to whole nanoseconds, at least 1; returns NEVER above MAX_TIME_NS. A fraction of 0.0001 ns or less is a
// rounding error and is dropped.
u64 round_up(double ns);
// Returns factor * (a / m + b) for m from 1 to tpcs, rounded up. a, b >= 0.
std::vector<u64> amdahl_curve(double a_ns, double b_ns, double factor, u32 tpcs);
// Returns a curve from measured times by size.
std::vector<u64> measured_curve(const std::map<u32, u64> &ns_by_size, u32 tpcs);

// What the times of the tasks of a partition depend on, besides its size.
struct Situation {
	bool compute_conflict = false, memory_conflict = false; // two or more tasks of the class are in it
	bool beside_compute = false, beside_memory = false;     // other partitions have tasks of the class

	friend bool operator==(const Situation &, const Situation &) = default;
};

// Returns the factor by which the task takes longer because of tasks in other partitions, at least 1.
double beside_factor(const Task &task, const Situation &situation);
// Returns the execution time, or NEVER.
u64 time_in(const Task &task, u32 tpcs, const Situation &situation);
// Returns the time of the longest kernel, at most the execution time.
u64 longest_kernel_in(const Task &task, u32 tpcs, const Situation &situation);

// The conflicts in a partition: tasks are in conflict if the partition has two or more tasks of their class.
struct Conflicts {
	// members: indices of the partition's tasks.
	Conflicts(std::span<const Task> tasks, std::span<const u32> members);
	bool has(const Task &t) const { return t.kind == Class::Memory ? memory : compute; }
	bool compute, memory; // by class
};

const char *class_name(Class kind);

} // namespace tool::plan
