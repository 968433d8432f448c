// SPDX-License-Identifier: GPL-2.0
// Chooses TPCs for partitions, GPC by GPC.
#include "lib/tpc/place.hpp"

#include <algorithm>
#include <numeric>

namespace tool::plan {

namespace {

// The free TPCs of each GPC.
class FreeTpcs {
public:
	FreeTpcs(const GpcMap &map, const TpcMask &taken)
	{
		for (const GpcTpcs &g : map.gpcs) {
			std::vector<u32> tpcs;
			std::copy_if(g.tpcs.rbegin(), g.tpcs.rend(), std::back_inserter(tpcs),
				     [&](u32 t) { return !taken.has(t); });
			whole_.push_back(tpcs.size() == g.tpcs.size());
			free_.push_back(std::move(tpcs));
		}
	}

	size_t gpc_count() const { return free_.size(); }
	u32 free(size_t gpc) const { return static_cast<u32>(free_[gpc].size()); }
	bool is_whole(size_t gpc) const { return whole_[gpc]; } // no partition has a TPC of it
	void take(TpcMask &mask, size_t gpc, u32 n)
	{
		for (; n; n--) {
			mask.add(free_[gpc].back()); // the lowest number
			free_[gpc].pop_back();
			whole_[gpc] = false;
		}
	}
	// Returns the best GPC of those that are allowed, the first of equals; nothing if none is allowed.
	template <typename Allowed, typename Better>
	std::optional<size_t> best_gpc(Allowed allowed, Better better) const
	{
		std::optional<size_t> found;
		for (size_t i = 0; i < gpc_count(); i++)
			if (allowed(i) && (!found || better(i, *found)))
				found = i;
		return found;
	}

private:
	std::vector<std::vector<u32>> free_; // by GPC; descending, so that the lowest is at the back
	std::vector<bool> whole_;
};

void place_packed(FreeTpcs &available, TpcMask &mask, u32 size)
{
	auto more = [&](size_t a, size_t b) { return available.free(a) > available.free(b); };
	auto fewer = [&](size_t a, size_t b) { return available.free(a) < available.free(b); };

	while (size) {
		std::optional<size_t> gpc =
			available.best_gpc([&](size_t i) { return available.free(i) >= size; }, fewer);
		if (!gpc)
			gpc = available.best_gpc([&](size_t i) { return available.is_whole(i) && available.free(i); },
						 more);
		if (!gpc)
			gpc = available.best_gpc([&](size_t i) { return available.free(i) > 0; }, more);
		u32 n = std::min(size, available.free(gpc.value()));
		available.take(mask, *gpc, n);
		size -= n;
	}
}

void place_distributed(FreeTpcs &available, TpcMask &mask, u32 size)
{
	std::vector<u32> taken(available.gpc_count());

	for (; size; size--) {
		std::optional<size_t> gpc = available.best_gpc([&](size_t i) { return available.free(i) > 0; },
							       [&](size_t a, size_t b) {
			return std::pair(taken[a], available.free(b)) < std::pair(taken[b], available.free(a));
		});
		available.take(mask, gpc.value(), 1);
		taken[*gpc]++;
	}
}

} // namespace

std::vector<TpcMask> place_partitions(const GpcMap &map, const TpcMask &taken, const std::vector<u32> &sizes,
				      Placing placing)
{
	std::vector<TpcMask> masks(sizes.size(), TpcMask(map.tpcs));
	std::vector<size_t> order(sizes.size());
	FreeTpcs available(map, taken);

	std::iota(order.begin(), order.end(), size_t{0});
	std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
	for (size_t i : order)
		(placing == Placing::Packed ? place_packed : place_distributed)(available, masks[i], sizes[i]);
	return masks;
}

const char *placing_name(Placing placing)
{
	return placing == Placing::Packed ? "packed" : "distributed";
}

} // namespace tool::plan
