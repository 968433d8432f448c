// SPDX-License-Identifier: GPL-2.0
// See place.hpp.
#include "plan/place.hpp"

#include "sources.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace tool::plan {

namespace {

// TPCs of a driver that numbers SMs: by (logical GPC, TPC in it), in the order of their first SM.
GpcMap map_of_sms(const Gpu &gpu)
{
	std::map<std::pair<u32, u32>, u32> numbers; // of a TPC
	std::map<u32, GpcTpcs> gpcs;
	GpcMap map;

	for (const Sm &s : gpu.sms) { // by id
		if (!numbers.emplace(std::pair(s.gpc, s.tpc), map.tpcs).second)
			continue;
		GpcTpcs &to = gpcs[s.gpc];
		to.gpc = s.gpc;
		to.tpcs.push_back(map.tpcs++);
	}
	for (auto &[logical, one] : gpcs) {
		for (const Gpc &g : gpu.gpcs)
			if (g.logical == static_cast<int>(logical))
				one.gpc = g.id;
		map.gpcs.push_back(std::move(one));
	}
	std::sort(map.gpcs.begin(), map.gpcs.end(), [](const GpcTpcs &a, const GpcTpcs &b) { return a.gpc < b.gpc; });
	return map;
}

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

const GpcTpcs *GpcMap::find(u32 gpc) const
{
	auto at = std::find_if(gpcs.begin(), gpcs.end(), [gpc](const GpcTpcs &g) { return g.gpc == gpc; });

	return at == gpcs.end() ? nullptr : &*at;
}

std::vector<u32> GpcMap::numbers() const
{
	std::vector<u32> list;

	list.reserve(gpcs.size());
	for (const GpcTpcs &g : gpcs)
		list.push_back(g.gpc);
	return list;
}

GpcMap gpc_map(const Gpu &gpu)
{
	bool numbered = !gpu.gpcs.empty() && std::all_of(gpu.gpcs.begin(), gpu.gpcs.end(),
							 [](const Gpc &g) { return g.first_tpc || !g.tpcs; });
	GpcMap map;

	if (!numbered && !gpu.sms.empty())
		return map_of_sms(gpu);
	if (!numbered)
		throw SourceError(gpu.name() + ": its GPCs and TPCs are not known: --tpcs plans without them");
	for (const Gpc &g : gpu.gpcs) {
		GpcTpcs one{g.id, std::vector<u32>(g.tpcs)};
		std::iota(one.tpcs.begin(), one.tpcs.end(), g.first_tpc.value_or(0));
		for (u32 t : one.tpcs)
			map.tpcs = std::max(map.tpcs, t + 1);
		map.gpcs.push_back(std::move(one));
	}
	return map;
}

TpcMask reserved_tpcs(const std::vector<Reserved> &reserved, const GpcMap &map, const std::string &file)
{
	TpcMask taken(map.tpcs);
	std::vector<const Reserved *> by(map.tpcs);

	for (const Reserved &r : reserved) {
		std::vector<u32> tpcs = r.tpcs;
		std::string item = fmt::format("{}: reserved \"{}\"", file, r.name);
		for (u32 id : r.gpcs) {
			const GpcTpcs *gpc = map.find(id);
			if (map.gpcs.empty())
				throw BadInput(
					fmt::format("{}: GPC {}: which TPCs that is, only a GPU tells", item, id));
			if (!gpc)
				throw BadInput(fmt::format("{}: there is no GPC {}; there is {}", item, id,
							   fmt::join(map.numbers(), ", ")));
			tpcs.insert(tpcs.end(), gpc->tpcs.begin(), gpc->tpcs.end());
		}
		for (u32 t : tpcs) {
			if (t >= map.tpcs)
				throw BadInput(fmt::format("{}: there is no TPC {}; there are 0 to {}", item, t,
							   map.tpcs - 1));
			if (by[t])
				throw BadInput(
					fmt::format("{}: TPC {} is reserved for \"{}\" already", item, t, by[t]->name));
			by[t] = &r;
			taken.add(t);
		}
	}
	return taken;
}

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

std::vector<u32> gpcs_of(const GpcMap &map, const TpcMask &mask)
{
	std::vector<u32> list;

	for (const GpcTpcs &g : map.gpcs)
		if (std::any_of(g.tpcs.begin(), g.tpcs.end(), [&](u32 t) { return mask.has(t); }))
			list.push_back(g.gpc);
	return list;
}

const char *placing_name(Placing how)
{
	return how == Placing::Packed ? "packed" : "distributed";
}

} // namespace tool::plan
