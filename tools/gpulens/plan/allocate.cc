// SPDX-License-Identifier: GPL-2.0
// See allocate.hpp.
#include "gpulens/plan/allocate.hpp"

#include <algorithm>
#include <numeric>

namespace tool::plan {

namespace {

constexpr double ROUNDING = 1e-9; // of sums of doubles

std::vector<u32> together(const Partition &a, const Partition &b)
{
	std::vector<u32> all;

	std::merge(a.tasks.begin(), a.tasks.end(), b.tasks.begin(), b.tasks.end(), std::back_inserter(all));
	return all;
}

// A square table of what is known of two partitions, by their places.
template <typename T> class Pairs {
public:
	explicit Pairs(size_t n) : n_(n), values_(n * n) {}
	T &of(u32 a, u32 b) { return values_[std::min(a, b) * n_ + std::max(a, b)]; }

private:
	size_t n_;
	std::vector<T> values_;
};

class Allocator {
public:
	Allocator(const Problem &problem, const Heuristic &how)
		: problem_(problem), how_(how), tasks_forbid_(problem.tasks().size()), merged_(problem.tasks().size())
	{
	}

	Allocation run()
	{
		init();
		if (how_.act)
			prefill();
		while (total_ > problem_.sizes().tpcs && merge_two())
			;
		for (Place &p : list_)
			result_.partitions.push_back(std::move(p.partition));
		result_.fits = total_ <= problem_.sizes().tpcs;
		return std::move(result_);
	}

private:
	struct Place {
		u32 id; // in the tables; of one of its tasks
		Partition partition;
		double load;
	};
	static constexpr u32 FAILS = ~0U;

	void init()
	{
		for (u32 i = 0; i < problem_.tasks().size(); i++) {
			u32 m = problem_.initial_size(i);
			total_ += m;
			list_.push_back({i, {{i}, m}, problem_.load(std::span(&i, 1), m)});
		}
		std::stable_sort(list_.begin(), list_.end(),
				 [this](const Place &a, const Place &b) { return before(a, b); });
	}

	bool before(const Place &a, const Place &b) const
	{
		return how_.start == Start::Largest ? a.load > b.load : a.load < b.load;
	}

	// Size of the two as one; FAILS where that saves nothing (Definition 2). Tried once, which is what ends the
	// search.
	u32 merged(const Place &a, const Place &b)
	{
		u32 &size = merged_.of(a.id, b.id);

		if (!size) {
			u32 m1 = a.partition.tpcs, m2 = b.partition.tpcs;
			size = problem_.smallest(together(a.partition, b.partition), std::max(m1, m2), m1 + m2 - 1);
			size = size ? size : FAILS;
			result_.merges++;
		}
		return size;
	}

	void prefill()
	{
		for (size_t i = 0; i < list_.size(); i++)
			for (size_t k = i + 1; k < list_.size(); k++)
				if (merged(list_[i], list_[k]) == FAILS) {
					tasks_forbid_.of(list_[i].id, list_[k].id) = true;
					result_.forbidden_pairs++;
				}
	}

	bool forbidden(const Place &a, const Place &b)
	{
		return tasks_forbid_.of(a.id, b.id) || merged_.of(a.id, b.id) == FAILS;
	}

	// Partners for the one at `first`, best first; of SMS only the best, or none.
	std::vector<size_t> eligible(size_t first)
	{
		return how_.order == Order::Sms ? smallest_with(first) : by_load_with(first);
	}

	std::vector<size_t> smallest_with(size_t first)
	{
		const Place &own = list_[first];
		std::vector<size_t> best;
		u32 least = FAILS;

		for (size_t i = 0; i < list_.size(); i++) {
			if (i == first || forbidden(own, list_[i]) || merged(own, list_[i]) >= least)
				continue;
			least = merged(own, list_[i]);
			best = {i};
			// None can be smaller than one of its two parts.
			if (least == own.partition.tpcs)
				break;
		}
		return best;
	}

	std::vector<size_t> by_load_with(size_t first)
	{
		const Place &own = list_[first];
		std::vector<std::pair<double, size_t>> ranked;
		std::vector<size_t> sorted;

		for (size_t i = 0; i < list_.size(); i++) {
			if (i == first || forbidden(own, list_[i]))
				continue;
			u32 m = std::max(own.partition.tpcs, list_[i].partition.tpcs);
			ranked.emplace_back(problem_.load(together(own.partition, list_[i].partition), m), i);
		}
		std::sort(ranked.begin(), ranked.end());
		sorted.reserve(ranked.size());
		for (const auto &[rank, i] : ranked)
			sorted.push_back(i);
		return sorted;
	}

	// One merge, if there is any.
	bool merge_two()
	{
		for (size_t first = 0; first < list_.size(); first++)
			for (size_t second : eligible(first)) {
				u32 size = merged(list_[first], list_[second]);
				if (size == FAILS)
					continue;
				replace(first, second, size);
				return true;
			}
		return false;
	}

	void replace(size_t first, size_t second, u32 size)
	{
		Place one{list_[first].id, {together(list_[first].partition, list_[second].partition), size}, 0};
		u32 gone = list_[second].id;

		one.load = problem_.load(one.partition.tasks, size);
		total_ -= list_[first].partition.tpcs + list_[second].partition.tpcs - size;
		list_.erase(list_.begin() + static_cast<long>(std::max(first, second)));
		list_.erase(list_.begin() + static_cast<long>(std::min(first, second)));
		// What no task of either may be with, the new one may not; what either failed with, it may.
		for (const Place &other : list_) {
			tasks_forbid_.of(one.id, other.id) |= tasks_forbid_.of(gone, other.id);
			merged_.of(one.id, other.id) = 0;
		}
		auto at = std::upper_bound(list_.begin(), list_.end(), one,
					   [this](const Place &a, const Place &b) { return before(a, b); });
		list_.insert(at, std::move(one));
	}

	const Problem &problem_;
	const Heuristic &how_;
	Allocation result_;
	std::vector<Place> list_;
	u32 total_ = 0;
	Pairs<unsigned char> tasks_forbid_; // ACT's list: some task of one and some task of the other
	Pairs<u32> merged_;                 // size; 0: not yet tried; FAILS: INA's list
};

Allocation whole_gpu(const Problem &problem)
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

Allocation allocate(const Problem &problem, const Heuristic &how)
{
	Allocation none, a;

	for (u32 i = 0; i < problem.tasks().size(); i++)
		if (!problem.initial_size(i))
			none.impossible.push_back(i);
	none.least_tpcs = problem.least_tpcs();
	none.too_much = none.least_tpcs > problem.sizes().tpcs * (1 + ROUNDING);
	if (!none.impossible.empty() || none.too_much)
		return none;
	a = how.whole ? whole_gpu(problem) : Allocator(problem, how).run();
	a.least_tpcs = none.least_tpcs;
	return a;
}

} // namespace tool::plan
