// SPDX-License-Identifier: GPL-2.0
// Collects reserved TPCs and checks them against the GPU.
#include "gpulens/plan/task_file.hpp"

#include "lib/base/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::plan {

TpcMask find_reserved(const std::vector<Reserved> &reserved, const GpcMap &map, const std::string &file)
{
	TpcMask taken(map.tpcs);
	std::vector<const Reserved *> owner(map.tpcs);

	for (const Reserved &r : reserved) {
		std::vector<u32> tpcs = r.tpcs;
		std::string item = fmt::format("{}: reserved \"{}\"", file, r.name);
		for (u32 id : r.gpcs) {
			const GpcTpcs *gpc = map.find(id);
			if (map.gpcs.empty())
				throw Error(Error::Input,
					    fmt::format("{}: GPC {}: with --tpcs the TPCs of GPCs are not known", item,
							id));
			if (!gpc)
				throw Error(Error::Input, fmt::format("{}: there is no GPC {}; there are {}", item, id,
								      fmt::join(map.gpc_numbers(), ", ")));
			tpcs.insert(tpcs.end(), gpc->tpcs.begin(), gpc->tpcs.end());
		}
		for (u32 t : tpcs) {
			if (t >= map.tpcs)
				throw Error(Error::Input, fmt::format("{}: there is no TPC {}; there are 0 to {}", item,
								      t, map.tpcs - 1));
			if (owner[t])
				throw Error(Error::Input, fmt::format("{}: TPC {} is reserved for \"{}\" already", item,
								      t, owner[t]->name));
			owner[t] = &r;
			taken.add(t);
		}
	}
	return taken;
}

} // namespace tool::plan
