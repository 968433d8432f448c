// SPDX-License-Identifier: GPL-2.0
// The partition-and-allocate heuristics of Singh's thesis, section 3.5: a partition for each task, as small as it may
// be, and then two partitions merged into a smaller one again and again, until all fit onto the GPU.
//
// Which two: the first of the list that may be merged with any (by utilization, see Start), and
//   SMS  the one with which it becomes smallest (Definition 3: all merges are tried)
//   BF   the ones in the order of the utilization that the two would have, ascending (Definition 4: none is tried
//        first)
// and what may not be merged:
//   INA  two partitions whose merge has failed
//   ACT  those, and whatever holds two tasks that cannot be merged alone, which all pairs are tried for beforehand
//
// The printed algorithms have slips; what is done instead, each with a test in tests/tools/plan_slips_test.cc:
//   1 Algorithm 3 loops until the list of partitions is empty, which it never is; and lets a partition merge with
//     itself. Here: until no candidate is left; a partition is no partner of its own.
//   2 Algorithm 1 selects the same partition for ever unless failed pairs are remembered and looked up. They are.
//   3 Definition 4 sums times, not utilizations. Divided by periods here.
//   4 Section 3.5.3 has all pairs tried when ACT is skipped; Algorithm 1 and section 3.6.2 when it is on, as here.
//   5 Forbidden are pairs of tasks by section 3.5.3, pairs of partitions by Algorithm 1. Both are needed: a failed
//     merge of partitions says nothing of their tasks in other company, a pair of tasks that ACT refused holds wherever
//     they go.
//   (6, of the generator, is in generate.hpp.)
//
// What the thesis leaves open is decided here: a list in the order of decreasing utilization (Start), ties in the order
// of the tasks; BF takes utilization at the larger of the two sizes, from which merging starts.
#pragma once
#include "gpulens/plan/partition.hpp"

namespace tool::plan {

enum class Order { Sms, BestFit };
enum class Start { Largest, Smallest }; // the end of the list, by utilization, where merging starts

struct Heuristic {
	Order order = Order::Sms;
	bool act = false;
	bool whole = false; // the baseline 1G instead: one partition of the whole GPU for all
	Start start = Start::Largest;

	// "sms-ina", "sms-act", "bf-ina", "bf-act" or "1g"
	const char *name() const;
};

// All five, in the order of their names above.
std::vector<Heuristic> all_heuristics();

struct Allocation {
	bool fits = false;
	std::vector<Partition> partitions; // each is schedulable; together they may be larger than the GPU where !fits
	std::vector<u32> impossible;       // tasks that fit nowhere, even alone: Lemma 2
	double least_tpcs = 0;             // Lemma 1's bound
	bool too_much = false;             // that is more than the GPU has: nothing was tried
	u64 merges = 0;                    // that were tried, those of ACT's pairs with them
	u64 forbidden_pairs = 0;           // of tasks, by ACT

	u32 tpcs() const;
};

Allocation allocate(const Problem &problem, const Heuristic &how);

} // namespace tool::plan
