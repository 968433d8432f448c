// SPDX-License-Identifier: GPL-2.0
// The partition-and-allocate heuristics of Singh's thesis, section 3.5. Each task gets a partition of its own, as small
// as possible. Then pairs of partitions are merged into smaller ones, until all partitions fit onto the GPU.
//
// The first partition of a pair is the first in the list, by utilization (Start), that can be merged with another one.
// The second is:
//   SMS  the one that gives the smallest merged partition (Definition 3; tries all merges)
//   BF   the first that can be merged, in ascending order of the pair's utilization (Definition 4; no merge is tried
//        to find the order)
// Pairs that are not tried:
//   INA  two partitions whose merge has failed
//   ACT  those of INA, and partitions with two tasks that cannot be merged with each other; all pairs of tasks are
//        tried beforehand
//
// The printed algorithms have errors. The corrections, each with a test in tests/tools/plan_slips_test.cc, are:
//   1 Algorithm 3 loops until the list of partitions is empty, which never happens, and merges a partition with itself.
//     Here it ends when no candidate is left, and a partition is not merged with itself.
//   2 Algorithm 1 selects the same pair for ever unless failed pairs are remembered. Here they are.
//   3 Definition 4 sums times, not utilizations. Here times are divided by periods.
//   4 By section 3.5.3 all pairs are tried if ACT is off; by Algorithm 1 and section 3.6.2 if it is on, as here.
//   5 Section 3.5.3 forbids pairs of tasks, Algorithm 1 pairs of partitions. Both are needed: a failed merge of two
//     partitions does not imply that their tasks fail in other partitions, but a pair of tasks that ACT rejected fails
//     in every partition.
//   (6 is an error of the generator, see generate.hpp.)
//
// The thesis leaves open, and this project decides: the list is sorted by utilization (Start), ties are in the order of
// the tasks, and BF computes the utilization for the larger size of the two partitions.
#pragma once
#include "gpulens/plan/partition.hpp"

namespace tool::plan {

enum class Order { Sms, BestFit };
enum class Start { Largest, Smallest }; // the utilization of the partitions that are merged first

struct Heuristic {
	Order order = Order::Sms;
	bool act = false;
	bool whole = false; // the baseline 1G: one partition of the whole GPU for all tasks; ignores the other members
	Start start = Start::Largest;

	// Returns "sms-ina", "sms-act", "bf-ina", "bf-act" or "1g"
	const char *name() const;
};

// Returns all five, in the order of the names above.
std::vector<Heuristic> all_heuristics();

struct Allocation {
	bool fits = false;
	std::vector<Partition> partitions; // each is schedulable; if !fits, together they may be larger than the GPU
	std::vector<u32> impossible;       // tasks that fit no partition, even alone (Lemma 2)
	double least_tpcs = 0;             // lower bound of Lemma 1
	bool too_much = false;             // least_tpcs is more than the GPU has; no merge was tried
	u64 merges = 0;                    // number of merges that were tried, with those of ACT's pairs
	u64 forbidden_pairs = 0;           // number of pairs of tasks that ACT rejected

	u32 tpcs() const; // of all partitions
};

Allocation allocate(const Problem &problem, const Heuristic &heuristic);

} // namespace tool::plan
