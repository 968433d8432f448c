// SPDX-License-Identifier: GPL-2.0
// Moving a runlist under a reader; see runlist_mover.hpp.
#include "driver/runlist_mover.hpp"

#include "model/bus.hpp"

#include <algorithm>

namespace emu {

void RunlistMover::check_read(int bar, u64 offset)
{
	Runlist *rl = plan_.every ? gpu_.host().runlist(plan_.runlist) : nullptr;
	if (!rl)
		return;
	const Memories &mem = gpu_.memories();
	auto target = gpu_.bus().target(bar, offset);
	u64 bytes = u64(rl->submit_length) * gpu_.profile().traits.entry_bytes;
	if (!target || mem.in_system(target->ap) != mem.in_system(rl->submit_base.ap) ||
	    target->addr - rl->submit_base.addr >= bytes)
		return;
	if (++plan_.seen % plan_.every == 0)
		move_list(*rl);
}

void RunlistMover::move_list(Runlist &rl)
{
	Memories &mem = gpu_.memories();
	unsigned entry = gpu_.profile().traits.entry_bytes;
	std::vector<u8> raw(size_t(rl.submit_length) * entry);
	if (raw.empty() || !mem.read(rl.submit_base, raw.data(), raw.size()))
		return;
	WalkedList list = walk_runlist(mem, rl.submit_base, rl.submit_length, entry, 0xfff);
	if (list.tsgs.size() > 1) {
		size_t first = size_t(list.tsgs[1].entry) * entry;
		std::rotate(raw.begin(), raw.begin() + long(first), raw.end());
	}
	Phys from = rl.submit_base, to = from;
	if (!plan_.in_place) {
		if (!plan_.spare)
			plan_.spare = driver_.allocate(from.ap, raw.size(), 0x10000).addr;
		to = {from.ap, plan_.spare};
		plan_.spare = from.addr;
	}
	mem.write(to, raw.data(), raw.size());
	if (!plan_.in_place) {
		std::vector<u8> junk(raw.size(), 0x5a);
		mem.write(from, junk.data(), junk.size());
	}
	plan_.times++;
	driver_.submit(rl, to, rl.submit_length);
}

} // namespace emu
