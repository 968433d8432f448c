// SPDX-License-Identifier: GPL-2.0
// See place.hpp.
#include "lib/tpc/place.hpp"

#include <algorithm>
#include <numeric>

namespace tool::plan {

namespace {

// What is left of each GPC while partitions take TPCs.
class Left {
public:
	Left(const GpcMap &map, const TpcMask &taken)
	{
		for (const GpcTpcs &g : map.gpcs) {
			std::vector<u32> tpcs;
			std::copy_if(g.tpcs.rbegin(), g.tpcs.rend(), std::back_inserter(tpcs),
				     [&](u32 t) { return !taken.has(t); });
			whole_.push_back(tpcs.size() == g.tpcs.size());
			left_.push_back(std::move(tpcs));
		}
	}

	size_t gpcs() const { return left_.size(); }
	u32 left(size_t gpc) const { return static_cast<u32>(left_[gpc].size()); }
	bool is_whole(size_t gpc) const { return whole_[gpc]; } // nobody has any of it
	void take(TpcMask &to, size_t gpc, u32 n)
	{
		for (; n; n--) {
			to.add(left_[gpc].back()); // the lowest number
			left_[gpc].pop_back();
			whole_[gpc] = false;
		}
	}
	// The GPC for which `better` holds against all others; of equals the first.
	template <typename Has, typename Better> std::optional<size_t> best(Has has, Better better) const
	{
		std::optional<size_t> found;
		for (size_t i = 0; i < gpcs(); i++)
			if (has(i) && (!found || better(i, *found)))
				found = i;
		return found;
	}

private:
	std::vector<std::vector<u32>> left_; // descending
	std::vector<bool> whole_;
};

void place_packed(Left &from, TpcMask &to, u32 size)
{
	auto more = [&](size_t a, size_t b) { return from.left(a) > from.left(b); };
	auto fewer = [&](size_t a, size_t b) { return from.left(a) < from.left(b); };

	while (size) {
		std::optional<size_t> gpc = from.best([&](size_t i) { return from.left(i) >= size; }, fewer);
		if (!gpc)
			gpc = from.best([&](size_t i) { return from.is_whole(i) && from.left(i); }, more);
		if (!gpc)
			gpc = from.best([&](size_t i) { return from.left(i) > 0; }, more);
		u32 n = std::min(size, from.left(gpc.value()));
		from.take(to, *gpc, n);
		size -= n;
	}
}

void place_distributed(Left &from, TpcMask &to, u32 size)
{
	std::vector<u32> own(from.gpcs());

	for (; size; size--) {
		std::optional<size_t> gpc = from.best([&](size_t i) { return from.left(i) > 0; },
						      [&](size_t a, size_t b) {
			return std::pair(own[a], from.left(b)) < std::pair(own[b], from.left(a));
		});
		from.take(to, gpc.value(), 1);
		own[*gpc]++;
	}
}

} // namespace

std::vector<TpcMask> place(const GpcMap &map, const TpcMask &taken, const std::vector<u32> &sizes, Placing how)
{
	std::vector<TpcMask> masks(sizes.size(), TpcMask(map.tpcs));
	std::vector<size_t> order(sizes.size());
	Left left(map, taken);

	std::iota(order.begin(), order.end(), size_t{0});
	std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
	for (size_t i : order)
		(how == Placing::Packed ? place_packed : place_distributed)(left, masks[i], sizes[i]);
	return masks;
}

const char *placing_name(Placing how)
{
	return how == Placing::Packed ? "packed" : "distributed";
}

} // namespace tool::plan
