// SPDX-License-Identifier: GPL-2.0
// See reserve.hpp.
#include "gpulens/plan/reserve.hpp"

#include "lib/base/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::plan {

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
							   fmt::join(map.gpc_numbers(), ", ")));
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

} // namespace tool::plan
