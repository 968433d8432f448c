// SPDX-License-Identifier: GPL-2.0
// The partition-and-allocate heuristics of Singh's thesis, section 3.5. Each task gets a partition of its own, as small
// as possible. Then pairs of partitions are merged into smaller ones, until all partitions fit onto the GPU.
//
// The first partition of a pair is the first in the list, by utilization (Start), that can be merged with another one.
// The second is:
//   SMS  the one that gives the smallest merged partition (Definition 3; tries all merges)
//   BF   the first that can be merged, in descending order of the pair's utilization (best fit; no merge is tried to
//        find the order)
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
// the tasks, BF computes the utilization for the larger size of the two partitions, and which of the merges that are
// equally small SMS takes (Ties). Definition 4 sorts BF's list in ascending order, which is the worst fit; section 3.6.2
// calls it best fit, which sorts in descending order, as here. docs/evaluate.md compares the readings.
//
// Beside these, three baselines with a partition for each task, which section 3.2 describes:
//   STGM        the smallest size that meets the deadline: more TPCs for each task that misses it (S. Saha, Y. Xiang, H.
//               Kim, RTCSA 2019)
//   even        an equal part of the GPU for each (J. Adriaens, K. Compton, N. Kim, M. Schulte, HPCA 2012)
//   smart-even  likewise, but a task gets no TPC that makes it no faster, and the others share those. Adriaens et al.
//               know that from the dimensions of a kernel; here it is the smallest size with the least time.
#pragma once
#include "gpulens/plan/partition.hpp"

namespace tool::plan {

enum class Order { Sms, BestFit };
enum class Start { Largest, Smallest }; // the utilization of the partitions that are merged first
enum class Ties {
	First,
	Last,
	Fullest
};      // the merge that SMS takes of equally small ones: by the partner's place in the
	// list, or the one with the highest utilization
enum class Baseline { None, Stgm, Even, SmartEven };

struct Heuristic {
	Order order = Order::Sms;
	bool act = false;
	bool whole = false; // the baseline 1G: one partition of the whole GPU for all tasks; ignores the other members
	Start start = Start::Largest;
	Ties ties = Ties::First;
	bool together = false; // begins with all memory tasks in one partition, which frees them of each other
	Baseline baseline = Baseline::None; // ignores the other members

	// Returns "sms-ina", "sms-act", "bf-ina", "bf-act", "1g", "stgm", "even" or "smart-even"
	const char *name() const;
	bool merges() const { return !whole && baseline == Baseline::None; }
};

// Returns all eight, in the order of the names above.
std::vector<Heuristic> all_heuristics();
const char *start_name(Start start);
const char *ties_name(Ties ties);

struct Allocation {
	bool fits = false;
	std::vector<Partition>
		partitions; // each is schedulable; if !fits, there are none, or together they are larger than the GPU
	std::vector<u32> impossible; // tasks that fit no partition, even alone (Lemma 2)
	double least_tpcs = 0;       // lower bound of Lemma 1
	bool too_much = false;       // least_tpcs is more than the GPU has; no merge was tried
	u64 gave_up = 0;             // number of schedulability tests that gave up; the plan may exist all the same
	u64 merges = 0;              // number of merges that were tried, with those of ACT's pairs
	u64 forbidden_pairs = 0;     // number of pairs of tasks that ACT rejected

	u32 tpcs() const; // of all partitions
};

Allocation allocate(const Problem &problem, const Heuristic &heuristic);
// The baselines. Lemma 1 and Lemma 2 hold already.
Allocation allocate_baseline(const Problem &problem, Baseline baseline);
// Gives the TPCs that are left to the partitions with the least slack, as far as they gain some. partitions: those of an
// allocation that fits.
void assign_spare(const Problem &problem, std::vector<Partition> &partitions);

constexpr u32 MAX_EXACT_TASKS = 14; // 16384 sets, 4.8 million divisions: under a second

// Tries all divisions of n tasks into partitions for the one that needs the fewest TPCs: 2^n sets of tasks are tested, and 3^n
// divisions compared. The reference for the heuristics. As allocate(), but merges is the number of sets that were tested. There must be at most MAX_EXACT_TASKS tasks.
Allocation find_optimum(const Problem &problem);
// Changes a division, or that of each task alone, until it fits onto the GPU: at most `steps` times it divides the tasks of
// some partitions, drawn at random (the same ones each time), as well as can be. merges is the number of steps.
Allocation search_divisions(const Problem &problem, const std::vector<Partition> &start, u64 steps);

} // namespace tool::plan
