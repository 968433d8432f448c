// SPDX-License-Identifier: GPL-2.0
// The heuristics as a loop over a sorted list of partitions.
#include "gpulens/plan/allocate.hpp"

#include <algorithm>
#include <numeric>

namespace tool::plan {

namespace {

constexpr double ROUNDING_ERROR = 1e-9; // of sums of doubles

std::vector<u32> merge_tasks(const Partition &a, const Partition &b)
{
	std::vector<u32> all;

	std::merge(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), b.tasks.end(), std::back_inserter(all));
	return all;
}

// A symmetric table with a value for each pair of partitions, by their ids.
template <typename T> class Pairs {
public:
	explicit Pairs(size_t n) : n_(n), values_(n * n) {}
	T &at(u32 a, u32 b) { return values_[std::min(a, b) * n_ + std::max(a, b)]; }

private:
	size_t n_;
	std::vector<T> values_;
};

class Allocator {
public:
	Allocator(const Problem &problem, const Heuristic &heuristic)
		: problem_(problem), heuristic_(heuristic), tasks_forbid_(problem.tasks().size()),
		  merged_(problem.tasks().size())
	{
	}

	Allocation run()
	{
		list_tasks();
		if (heuristic_.act)
			forbid_task_pairs();
		while (total_ > problem_.sizes().tpcs && merge_two())
			;
		for (Entry &p : list_)
			result_.partitions.push_back(std::move(p.partition));
		result_.fits = total_ <= problem_.sizes().tpcs;
		return std::move(result_);
	}

private:
	struct Entry {
		u32 id; // in the tables; the index of one of its tasks
		Partition partition;
		double load;
	};
	static constexpr u32 NO_MERGE = ~0U;

	// Makes a partition for each task.
	void list_tasks()
	{
		for (u32 i = 0; i < problem_.tasks().size(); i++) {
			u32 m = problem_.initial_size(i);
			total_ += m;
			list_.push_back({i, {{i}, m}, problem_.load(std::span(&i, 1), m)});
		}
		std::stable_sort(list_.begin(), list_.end(),
				 [this](const Entry &a, const Entry &b) { return is_before(a, b); });
	}

	bool is_before(const Entry &a, const Entry &b) const
	{
		return heuristic_.start == Start::Largest ? a.load > b.load : a.load < b.load;
	}

	// Returns the size of the merged partition; NO_MERGE if merging saves no TPC (Definition 2). Remembers the
	// result, which makes the search end.
	u32 merged_size(const Entry &a, const Entry &b)
	{
		u32 &size = merged_.at(a.id, b.id);

		if (!size) {
			u32 m1 = a.partition.tpcs, m2 = b.partition.tpcs;
			size = problem_.smallest(merge_tasks(a.partition, b.partition), std::max(m1, m2), m1 + m2 - 1);
			size = size ? size : NO_MERGE;
			result_.merges++;
		}
		return size;
	}

	// ACT: tries all pairs of tasks.
	void forbid_task_pairs()
	{
		for (size_t i = 0; i < list_.size(); i++)
			for (size_t k = i + 1; k < list_.size(); k++)
				if (merged_size(list_[i], list_[k]) == NO_MERGE) {
					tasks_forbid_.at(list_[i].id, list_[k].id) = true;
					result_.forbidden_pairs++;
				}
	}

	bool is_forbidden(const Entry &a, const Entry &b)
	{
		return tasks_forbid_.at(a.id, b.id) || merged_.at(a.id, b.id) == NO_MERGE;
	}

	// Returns the candidates to merge with list_[first], best first. SMS returns only the best one, if any.
	std::vector<size_t> find_candidates(size_t first)
	{
		return heuristic_.order == Order::Sms ? find_smallest(first) : sort_by_load(first);
	}

	std::vector<size_t> find_smallest(size_t first)
	{
		const Entry &own = list_[first];
		std::vector<size_t> best;
		u32 least = NO_MERGE;

		for (size_t i = 0; i < list_.size(); i++) {
			if (i == first || is_forbidden(own, list_[i]) || merged_size(own, list_[i]) >= least)
				continue;
			least = merged_size(own, list_[i]);
			best = {i};
			// A merged partition cannot be smaller than its parts.
			if (least == own.partition.tpcs)
				break;
		}
		return best;
	}

	std::vector<size_t> sort_by_load(size_t first)
	{
		const Entry &own = list_[first];
		std::vector<std::pair<double, size_t>> ranked;
		std::vector<size_t> sorted;

		for (size_t i = 0; i < list_.size(); i++) {
			if (i == first || is_forbidden(own, list_[i]))
				continue;
			u32 m = std::max(own.partition.tpcs, list_[i].partition.tpcs);
			ranked.emplace_back(problem_.load(merge_tasks(own.partition, list_[i].partition), m), i);
		}
		std::sort(ranked.begin(), ranked.end());
		sorted.reserve(ranked.size());
		for (const auto &[rank, i] : ranked)
			sorted.push_back(i);
		return sorted;
	}

	// Merges the first pair that can be merged. Returns false if there is none.
	bool merge_two()
	{
		for (size_t first = 0; first < list_.size(); first++)
			for (size_t second : find_candidates(first)) {
				u32 size = merged_size(list_[first], list_[second]);
				if (size == NO_MERGE)
					continue;
				replace_pair(first, second, size);
				return true;
			}
		return false;
	}

	void replace_pair(size_t first, size_t second, u32 size)
	{
		Entry merged{list_[first].id, {merge_tasks(list_[first].partition, list_[second].partition), size}, 0};
		u32 gone = list_[second].id;

		merged.load = problem_.load(merged.partition.tasks, size);
		total_ -= list_[first].partition.tpcs + list_[second].partition.tpcs - size;
		list_.erase(list_.begin() + static_cast<long>(std::max(first, second)));
		list_.erase(list_.begin() + static_cast<long>(std::min(first, second)));
		// Pairs of tasks that ACT rejected stay rejected. Failed merges of the parts may succeed for the merged
		// partition.
		for (const Entry &other : list_) {
			tasks_forbid_.at(merged.id, other.id) |= tasks_forbid_.at(gone, other.id);
			merged_.at(merged.id, other.id) = 0;
		}
		auto at = std::upper_bound(list_.begin(), list_.end(), merged,
					   [this](const Entry &a, const Entry &b) { return is_before(a, b); });
		list_.insert(at, std::move(merged));
	}

	const Problem &problem_;
	const Heuristic &heuristic_;
	Allocation result_;
	std::vector<Entry> list_;
	u32 total_ = 0;
	Pairs<unsigned char> tasks_forbid_; // ACT's list: a task of one and a task of the other
	Pairs<u32> merged_;                 // size; 0: not tried; NO_MERGE: on INA's list
};

Allocation allocate_whole_gpu(const Problem &problem)
{
	std::vector<u32> all(problem.tasks().size());
	u32 m = problem.sizes().largest();
	Allocation a;

	std::iota(all.begin(), all.end(), 0U);
	a.fits = problem.fits(all, m);
	if (a.fits)
		a.partitions.push_back({all, m});
	return a;
}

} // namespace

const char *Heuristic::name() const
{
	if (whole)
		return "1g";
	if (order == Order::Sms)
		return act ? "sms-act" : "sms-ina";
	return act ? "bf-act" : "bf-ina";
}

std::vector<Heuristic> all_heuristics()
{
	return {{Order::Sms, false},
		{Order::Sms, true},
		{Order::BestFit, false},
		{Order::BestFit, true},
		{.whole = true}};
}

u32 Allocation::tpcs() const
{
	return std::accumulate(partitions.begin(), partitions.end(), 0U,
			       [](u32 sum, const Partition &p) { return sum + p.tpcs; });
}

Allocation allocate(const Problem &problem, const Heuristic &heuristic)
{
	Allocation none, a;

	for (u32 i = 0; i < problem.tasks().size(); i++)
		if (!problem.initial_size(i))
			none.impossible.push_back(i);
	none.least_tpcs = problem.least_tpcs();
	none.too_much = none.least_tpcs > problem.sizes().tpcs * (1 + ROUNDING_ERROR);
	if (!none.impossible.empty() || none.too_much)
		return none;
	a = heuristic.whole ? allocate_whole_gpu(problem) : Allocator(problem, heuristic).run();
	a.least_tpcs = none.least_tpcs;
	return a;
}

} // namespace tool::plan
