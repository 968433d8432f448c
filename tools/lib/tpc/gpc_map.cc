// SPDX-License-Identifier: GPL-2.0
// Builds a GpcMap from a GPU's SMs, its hardware's table of TPCs, or its GPCs.
#include "lib/tpc/gpc_map.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace tool::plan {

namespace {

// Numbers the TPCs in the order of their first SM: NVIDIA's driver reports SMs, not TPCs.
GpcMap map_of_sms(const Gpu &gpu)
{
	std::map<std::pair<u32, u32>, u32> numbers; // TPC by (logical GPC, TPC within it)
	std::map<u32, GpcTpcs> gpcs;
	GpcMap map{.tpcs = 0, .gpcs{}, .numbering = TpcNumbering::BySmid};

	for (const Sm &s : gpu.sms) { // in the order of %smid
		if (!numbers.emplace(std::pair(s.gpc, s.tpc), map.tpcs).second)
			continue;
		GpcTpcs &gpc = gpcs[s.gpc];
		gpc.gpc = s.gpc;
		gpc.tpcs.push_back(map.tpcs++);
	}
	for (auto &[logical, gpc] : gpcs) {
		for (const Gpc &g : gpu.gpcs)
			if (g.logical == static_cast<int>(logical))
				gpc.gpc = g.id;
		map.gpcs.push_back(std::move(gpc));
	}
	std::sort(map.gpcs.begin(), map.gpcs.end(), [](const GpcTpcs &a, const GpcTpcs &b) { return a.gpc < b.gpc; });
	return map;
}

GpcMap map_of_hardware(const Gpu &gpu)
{
	GpcMap map{.tpcs = 0, .gpcs{}, .numbering = TpcNumbering::BySmid};

	for (const HardwareGpc &g : gpu.hardware_gpcs) {
		map.gpcs.push_back({g.logical, g.tpcs});
		map.tpcs += static_cast<u32>(g.tpcs.size());
	}
	return map;
}

} // namespace

const char *numbering_name(TpcNumbering numbering)
{
	return numbering == TpcNumbering::BySmid ? "smid" : "gpc";
}

const GpcTpcs *GpcMap::find(u32 gpc) const
{
	auto at = std::find_if(gpcs.begin(), gpcs.end(), [gpc](const GpcTpcs &g) { return g.gpc == gpc; });

	return at == gpcs.end() ? nullptr : &*at;
}

std::vector<u32> GpcMap::gpc_numbers() const
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

	if (!gpu.sms.empty())
		return map_of_sms(gpu);
	if (!gpu.hardware_gpcs.empty())
		return map_of_hardware(gpu);
	if (!numbered && !gpu.counted_gpcs.empty())
		throw Error(
			Error::Source,
			gpu.name() +
				": its TPCs are only counted, by logical GPC, and their order is assumed, so no mask "
				"is made of them; use --tpcs to plan without them");
	if (!numbered)
		throw Error(Error::Source,
			    gpu.name() + ": its GPCs and TPCs are unknown; use --tpcs to plan without them");
	for (const Gpc &g : gpu.gpcs) {
		GpcTpcs gpc{g.id, std::vector<u32>(g.tpcs)};
		std::iota(gpc.tpcs.begin(), gpc.tpcs.end(), g.first_tpc.value_or(0));
		for (u32 t : gpc.tpcs)
			map.tpcs = std::max(map.tpcs, t + 1);
		map.gpcs.push_back(std::move(gpc));
	}
	return map;
}

std::vector<u32> gpcs_of(const GpcMap &map, const TpcMask &mask)
{
	std::vector<u32> list;

	for (const GpcTpcs &g : map.gpcs)
		if (std::any_of(g.tpcs.begin(), g.tpcs.end(), [&](u32 t) { return mask.has(t); }))
			list.push_back(g.gpc);
	return list;
}

} // namespace tool::plan
