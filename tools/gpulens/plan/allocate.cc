// SPDX-License-Identifier: GPL-2.0
// The heuristics as a loop over a sorted list of partitions.
#include "gpulens/plan/allocate.hpp"

#include "gpulens/plan/loads.hpp"

#include <algorithm>
#include <numeric>

namespace tool::plan {

namespace {

constexpr double ROUNDING_ERROR = 1e-9; // of sums of doubles

// A symmetric table with a value for each pair of partitions, by their ids. Takes no memory for a row without values.
template <typename T> class Pairs {
public:
	explicit Pairs(size_t n) : rows_(n) {}
	T get(u32 a, u32 b) const
	{
		const std::vector<T> &row = rows_[std::min(a, b)];
		return row.empty() ? T{} : row[std::max(a, b) - std::min(a, b)];
	}
	void set(u32 a, u32 b, T value)
	{
		std::vector<T> &row = rows_[std::min(a, b)];
		if (row.empty() && value == T{})
			return;
		if (row.empty())
			row.resize(rows_.size() - std::min(a, b));
		row[std::max(a, b) - std::min(a, b)] = value;
	}

private:
	std::vector<std::vector<T>> rows_;
};

class Allocator {
public:
	Allocator(const Problem &problem, const Heuristic &heuristic)
		: problem_(problem), heuristic_(heuristic), entries_(problem.tasks().size()),
		  tasks_forbid_(problem.tasks().size()), merged_(problem.tasks().size())
	{
	}

	Allocation run()
	{
		list_tasks();
		if (heuristic_.act)
			forbid_task_pairs();
		while (total_ > problem_.sizes().tpcs && merge_two())
			;
		bool all_fit = std::none_of(list_.begin(), list_.end(),
					    [this](u32 id) { return entries_[id].partition.tpcs == too_large(); });
		for (u32 id : list_)
			if (all_fit)
				result_.partitions.push_back(std::move(entries_[id].partition));
		result_.fits = total_ <= problem_.sizes().tpcs;
		return std::move(result_);
	}

private:
	struct Entry {
		Partition partition;
		double load = 0;
		std::optional<Loads> loads;
		// One more than the number of merges after which it could be merged with no partition; 0: unknown.
		u32 exhausted = 0;
	};
	static constexpr u16 NO_MERGE = 0xffff;

	// Makes a partition for each task, or one for all memory tasks. One that fits no size, because of its neighbours,
	// is larger than the GPU.
	void list_tasks()
	{
		std::vector<u32> memory;

		for (u32 i = 0; i < problem_.tasks().size(); i++) {
			if (heuristic_.together && problem_.tasks()[i].kind == Class::Memory)
				memory.push_back(i);
			else
				add_partition({i});
		}
		if (!memory.empty())
			add_partition(std::move(memory));
		std::stable_sort(list_.begin(), list_.end(), [this](u32 a, u32 b) { return is_before(a, b); });
	}

	void add_partition(std::vector<u32> tasks)
	{
		u32 id = tasks[0], m = problem_.smallest(tasks, 1, problem_.sizes().tpcs);
		Entry &e = entries_[id];

		e.load = problem_.load(tasks, m ? m : problem_.sizes().largest());
		e.partition = {std::move(tasks), m ? m : too_large()};
		total_ += e.partition.tpcs;
		list_.push_back(id);
	}

	u32 too_large() const { return problem_.sizes().tpcs + 1; }

	bool is_before(u32 a, u32 b) const
	{
		return heuristic_.start == Start::Largest ? entries_[a].load > entries_[b].load
							  : entries_[a].load < entries_[b].load;
	}

	std::vector<u32> merge_tasks(u32 a, u32 b) const
	{
		const std::vector<u32> &first = entries_[a].partition.tasks, &second = entries_[b].partition.tasks;
		std::vector<u32> all;

		all.reserve(first.size() + second.size());
		std::merge(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(all));
		return all;
	}

	Loads &loads_of(u32 id)
	{
		Entry &e = entries_[id];
		if (!e.loads)
			e.loads.emplace(problem_, e.partition.tasks);
		return *e.loads;
	}

	// Returns the size below which two partitions cannot be merged: that of the larger, unless neighbours become
	// members, so that times fall.
	u32 least_merged(u32 a, u32 b) const
	{
		if (problem_.has_neighbours())
			return 1;
		return std::max(entries_[a].partition.tpcs, entries_[b].partition.tpcs);
	}

	// Returns the size of the merged partition; NO_MERGE if merging saves no TPC (Definition 2). Remembers the
	// result, which makes the search end.
	u16 merged_size(u32 a, u32 b)
	{
		u16 known = merged_.get(a, b);

		if (known)
			return known;
		const Entry &first = entries_[a], &second = entries_[b];
		const Loads &first_loads = loads_of(a), &second_loads = loads_of(b);
		std::vector<u32> tasks;
		u32 size = problem_.find_smallest(least_merged(a, b), first.partition.tpcs + second.partition.tpcs - 1,
						  [&](u32 m) {
			// No test is met with a utilization above 1, and this sum is never above it.
			if (least_load(first_loads, second_loads, m) > 1 + 2 * ROUNDING_ERROR)
				return false;
			if (tasks.empty())
				tasks = merge_tasks(a, b);
			return problem_.fits(tasks, m);
		});
		known = size ? static_cast<u16>(size) : NO_MERGE;
		merged_.set(a, b, known);
		result_.merges++;
		return known;
	}

	// ACT: tries all pairs of tasks.
	void forbid_task_pairs()
	{
		for (size_t i = 0; i < list_.size(); i++)
			for (size_t k = i + 1; k < list_.size(); k++)
				if (merged_size(list_[i], list_[k]) == NO_MERGE) {
					tasks_forbid_.set(list_[i], list_[k], true);
					result_.forbidden_pairs++;
				}
	}

	bool is_forbidden(u32 a, u32 b) const { return tasks_forbid_.get(a, b) || merged_.get(a, b) == NO_MERGE; }

	// Returns the partitions to try with `own`, in the order of the list.
	std::vector<u32> find_partners(u32 own) const
	{
		u32 known = entries_[own].exhausted;
		std::vector<u32> partners;

		// Usually the last merge made the only partition that is new to it.
		if (known && known == merges_done_ + 1)
			return {};
		if (known && known == merges_done_)
			return last_born_ == own || is_forbidden(own, last_born_) ? std::vector<u32>{}
										  : std::vector<u32>{last_born_};
		for (u32 id : list_)
			if (id != own && !is_forbidden(own, id))
				partners.push_back(id);
		return partners;
	}

	// Returns the partition to merge with, if any.
	std::optional<u32> find_partner(u32 own)
	{
		std::vector<u32> partners = find_partners(own);
		std::optional<u32> found = heuristic_.order == Order::BestFit ? find_best_fit(own, partners)
					   : heuristic_.ties == Ties::Fullest ? find_fullest(own, partners)
									      : find_smallest(own, partners);
		if (!found)
			entries_[own].exhausted = merges_done_ + 1;
		return found;
	}

	std::optional<u32> find_smallest(u32 own, std::vector<u32> &partners)
	{
		std::optional<u32> best;
		u16 least = NO_MERGE;

		if (heuristic_.ties == Ties::Last)
			std::reverse(partners.begin(), partners.end());
		for (u32 id : partners) {
			u16 size = merged_size(own, id);
			if (size >= least)
				continue;
			least = size;
			best = id;
			// Without neighbours, a merged partition cannot be smaller than its parts.
			if (least == entries_[own].partition.tpcs && !problem_.has_neighbours())
				break;
		}
		return best;
	}

	std::optional<u32> find_fullest(u32 own, const std::vector<u32> &partners)
	{
		std::optional<u32> best;
		u16 least = NO_MERGE;
		double most = 0;

		for (u32 id : partners) {
			u16 size = merged_size(own, id);
			if (size == NO_MERGE || size > least)
				continue;
			double load = merged_load(own, id, size);
			if (size == least && load <= most)
				continue;
			least = size;
			most = load;
			best = id;
		}
		return best;
	}

	std::optional<u32> find_best_fit(u32 own, const std::vector<u32> &partners)
	{
		// The first of a heap is the one with the highest utilization; of equal ones, the first in the list.
		std::vector<std::pair<double, size_t>> ranked;

		ranked.reserve(partners.size());
		for (size_t i = 0; i < partners.size(); i++) {
			u32 m = std::max(entries_[own].partition.tpcs, entries_[partners[i]].partition.tpcs);
			ranked.emplace_back(merged_load(own, partners[i], std::min(m, problem_.sizes().largest())),
					    partners.size() - i);
		}
		std::make_heap(ranked.begin(), ranked.end());
		for (auto end = ranked.end(); end != ranked.begin(); --end) {
			std::pop_heap(ranked.begin(), end);
			u32 id = partners[partners.size() - (end - 1)->second];
			if (merged_size(own, id) != NO_MERGE)
				return id;
		}
		return std::nullopt;
	}

	double merged_load(u32 a, u32 b, u32 m)
	{
		return problem_.has_neighbours() ? problem_.load(merge_tasks(a, b), m)
						 : least_load(loads_of(a), loads_of(b), m);
	}

	// Merges the first pair that can be merged. Returns false if there is none.
	bool merge_two()
	{
		for (u32 first : list_)
			if (std::optional<u32> second = find_partner(first)) {
				replace_pair(first, *second, merged_size(first, *second));
				return true;
			}
		return false;
	}

	void replace_pair(u32 id, u32 gone, u32 size)
	{
		Entry &merged = entries_[id], &other = entries_[gone];

		total_ -= merged.partition.tpcs + other.partition.tpcs - size;
		loads_of(id).add(loads_of(gone));
		merged.partition = {merge_tasks(id, gone), size};
		merged.load = problem_.load(merged.partition.tasks, size);
		merged.exhausted = 0;
		merges_done_++;
		last_born_ = id;
		other = {};
		std::erase_if(list_, [&](u32 i) { return i == id || i == gone; });
		// Pairs of tasks that ACT rejected stay rejected. Failed merges of the parts may succeed for the merged
		// partition.
		for (u32 i : list_) {
			if (heuristic_.act && tasks_forbid_.get(gone, i))
				tasks_forbid_.set(id, i, true);
			merged_.set(id, i, 0);
		}
		list_.insert(std::upper_bound(list_.begin(), list_.end(), id,
					      [this](u32 a, u32 b) { return is_before(a, b); }),
			     id);
	}

	const Problem &problem_;
	const Heuristic &heuristic_;
	Allocation result_;
	std::vector<Entry> entries_; // by id, the index of one of its tasks
	std::vector<u32> list_;      // ids of the partitions that there are
	u32 total_ = 0, merges_done_ = 0, last_born_ = 0;
	Pairs<unsigned char> tasks_forbid_; // ACT's list: a task of one and a task of the other
	Pairs<u16> merged_;                 // size; 0: not tried; NO_MERGE: on INA's list
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
	switch (baseline) {
	case Baseline::Stgm: return "stgm";
	case Baseline::Even: return "even";
	case Baseline::SmartEven: return "smart-even";
	case Baseline::None: break;
	}
	if (whole)
		return "1g";
	if (order == Order::Sms)
		return act ? "sms-act" : "sms-ina";
	return act ? "bf-act" : "bf-ina";
}

const char *start_name(Start start)
{
	return start == Start::Largest ? "largest" : "smallest";
}

const char *ties_name(Ties ties)
{
	return ties == Ties::First ? "first" : ties == Ties::Last ? "last" : "fullest";
}

std::vector<Heuristic> all_heuristics()
{
	return {{Order::Sms, false},
		{Order::Sms, true},
		{Order::BestFit, false},
		{Order::BestFit, true},
		{.whole = true},
		{.baseline = Baseline::Stgm},
		{.baseline = Baseline::Even},
		{.baseline = Baseline::SmartEven}};
}

u32 Allocation::tpcs() const
{
	return std::accumulate(partitions.begin(), partitions.end(), 0U,
			       [](u32 sum, const Partition &p) { return sum + p.tpcs; });
}

Allocation allocate(const Problem &problem, const Heuristic &heuristic)
{
	u64 gave_up = problem.gave_up();
	Allocation none, a;

	none.impossible = problem.impossible();
	none.least_tpcs = problem.least_tpcs();
	none.too_much = none.least_tpcs > problem.sizes().tpcs * (1 + ROUNDING_ERROR);
	if (!none.impossible.empty() || none.too_much)
		return none;
	a = heuristic.whole                        ? allocate_whole_gpu(problem)
	    : heuristic.baseline != Baseline::None ? allocate_baseline(problem, heuristic.baseline)
						   : Allocator(problem, heuristic).run();
	a.least_tpcs = none.least_tpcs;
	a.gave_up = problem.gave_up() - gave_up;
	return a;
}

} // namespace tool::plan
