// SPDX-License-Identifier: GPL-2.0
// PMC, PTIMER, FUSE, CE, FB size and live GPC/TPC counts: registers and their sources, unit by unit.
#include "model/chip_units.hpp"

#include "model/bits.hpp"

#include <algorithm>
#include <bit>

namespace emu {

// PMC. BOOT_0 0x0, BOOT_1 0x4, BOOT_2 0x8 (DOC turing/tu104/dev_master.ref.txt), BOOT_42 0xa00 (open-gpu-kernel-
// modules nv_ref.h NV_PMC_BOOT_42).
bool Pmc::read(u32 off, u32 &v)
{
	switch (off) {
	case 0x0: v = profile_.boot0; return true;
	case 0x4:
	case 0x8: v = 0; return true;
	case 0xa00: v = profile_.boot42; return true;
	}
	return false;
}

bool Pmc::write(u32 off, u32)
{
	return off == 0x0 || off == 0x4 || off == 0x8 || off == 0xa00;
}

// PTIMER. TIME_0 0x9400 NSEC 31:5, TIME_1 0x9410 NSEC 28:0 (open-gpu-kernel-modules volta/gv100/dev_timer.h);
// from Turing on assumed to be still there.
bool Ptimer::read(u32 off, u32 &v)
{
	if (off == 0x9400)
		v = u32(host_.now()) & ~0x1fu;
	else if (off == 0x9410)
		v = u32(host_.now() >> 32) & 0x1fffffff;
	else
		return false;
	return true;
}

bool Ptimer::write(u32 off, u32)
{
	return off == 0x9400 || off == 0x9410;
}

// FUSE. A set bit means disabled. STATUS_OPT_GPC +0xc1c, STATUS_OPT_TPC_GPC(i) +0xc38+4i, i physical
// (linux-nvgpu hw_fuse_gm20b.h, hw_fuse_ga100.h; polarity hal/gr/config/gr_config_gm20b_fusa.c). Base 0x21000,
// from ga100 on 0x820000 (gh100: base published, offsets inherited). Kepler and gm107: not published, absent.
bool Fuse::read(u32 abs, u32 &v)
{
	u32 off = abs - base();
	if (off == 0xc1c) {
		v = profile_.gpc_disabled;
		return true;
	}
	if (off >= 0xc38 && off < 0xc38 + 4 * profile_.num_gpcs && !(off & 3)) {
		v = profile_.tpc_disabled[(off - 0xc38) / 4];
		return true;
	}
	return false;
}

bool Fuse::write(u32 abs, u32)
{
	u32 v;
	return read(abs, v);
}

// CE. Registers and sources: emulator/README.md, "Copy engine maps".
u32 *Ce::find_word(u32 off)
{
	auto at = [&](std::vector<u32> &words, u32 base) -> u32 * {
		if (off < base || off >= base + 4 * words.size() || off & 3)
			return nullptr;
		return &words[(off - base) / 4];
	};
	bool turing = profile_.traits.copy == CopyMap::Gv100;
	if (profile_.traits.copy == CopyMap::Packed)
		return off == 0x104034 ? at(grce_, 0x104034) : nullptr;
	if (auto *c = at(pce2lce_, turing ? 0x104040 : 0x104100))
		return c;
	return at(grce_, turing ? 0x104034 : 0x1041c0);
}

bool Ce::read(u32 off, u32 &v)
{
	if (off == 0x104028) {
		v = profile_.pce_map;
		return true;
	}
	if (profile_.traits.copy == CopyMap::Packed && off == 0x10402c) {
		v = 0;
		for (unsigned pce = 0; pce < 8; pce++)
			v |= (pce < pce2lce_.size() ? pce2lce_[pce] & 0xf : 7u) << (4 * pce);
		return true;
	}
	if (u32 *c = find_word(off)) {
		v = *c;
		return true;
	}
	return false;
}

bool Ce::write(u32 off, u32 v)
{
	if (off == 0x104028)
		return true;
	// That a driver may write it is assumed: of later chips the manuals say so (RW-4A).
	if (profile_.traits.copy == CopyMap::Packed && off == 0x10402c) {
		for (unsigned pce = 0; pce < 8 && pce < pce2lce_.size(); pce++)
			pce2lce_[pce] = v >> (4 * pce) & 0xf;
		return true;
	}
	u32 *c = find_word(off);
	if (c)
		*c = v;
	return c != nullptr;
}

// FB size. Registers and sources: emulator/README.md, "Memory size".
bool FbSize::read(u32 off, u32 &v)
{
	if (profile_.unified)
		return false;
	u64 mib = profile_.memory_bytes >> 20;
	if (profile_.traits.fb == FbSizeReg::LocalMemoryRange && off == 0x100ce0) {
		unsigned scale = 0;
		while (mib >> scale > 63)
			scale++;
		v = put_bits(3, 0, scale) | put_bits(9, 4, mib >> scale);
		return true;
	}
	if (profile_.traits.fb == FbSizeReg::UsableFb && off == 0x1183a4) {
		v = u32(mib);
		return true;
	}
	return false;
}

bool FbSize::write(u32 off, u32)
{
	u32 v;
	return read(off, v);
}

// CWD. GPC_TPC_ID(i): four TPCs to a word, TPC in 3:0 and GPC in 7:4 of each byte. SM_ID(i): the number of TPC t of GPC g
// in byte t % 4 of word g + GPCs * (t / 4) (linux-nvgpu hal/gr/init/gr_init_gm20b.c, gr_init_gv11b_fusa.c; more than
// eight TPCs in a GPC: assumed). Without a context: 0, from Ada on 0xbadf1201 (PEER nvdebug_entry.c).
std::vector<Cwd::Place> Cwd::places() const
{
	std::vector<unsigned> counts; // by logical GPC
	std::vector<Place> list;
	unsigned most = 0;
	for (unsigned g = 0; g < profile_.num_gpcs; g++)
		if (!get_bit(profile_.gpc_disabled, g))
			counts.push_back(unsigned(
				std::popcount(~profile_.tpc_disabled[g] & u32(bit_mask(profile_.tpc_per_gpc - 1, 0)))));
	for (unsigned n : counts)
		most = std::max(most, n);
	// By turns: Jetson Thor's three GPCs have TPCs 0x049, 0x092 and 0x324, GB10's bit i is in GPC i % 6.
	if (profile_.traits.tpcs_by_turns) {
		for (unsigned t = 0; t < most; t++)
			for (unsigned g = 0; g < counts.size(); g++)
				if (t < counts[g])
					list.push_back({g, t});
		return list;
	}
	for (unsigned g = 0; g < counts.size(); g++)
		for (unsigned t = 0; t < counts[g]; t++)
			list.push_back({g, t});
	return list;
}

bool Cwd::has_context()
{
	for (const EngineInfo &e : profile_.engines) {
		if (e.type != 0 || e.instance != 0) // GR0
			continue;
		const Runlist *rl = host_.runlist(e.runlist);
		return rl && rl->phase != Phase::Invalid && ((rl->now.slots | rl->next.slots) >> e.rleng & 1);
	}
	return false;
}

u32 Cwd::read_gpc_tpc_id(unsigned word) const
{
	std::vector<Place> list = places();
	u32 v = 0;
	for (unsigned i = 0; i < 4 && 4 * word + i < list.size(); i++)
		v |= (list[4 * word + i].gpc << 4 | list[4 * word + i].tpc) << 8 * i;
	return v;
}

u32 Cwd::read_sm_id(unsigned word) const
{
	std::vector<Place> list = places();
	u32 v = 0;
	for (unsigned n = 0; n < list.size(); n++)
		if (list[n].gpc + profile_.num_gpcs * (list[n].tpc / 4) == word)
			v |= n << 8 * (list[n].tpc % 4);
	return v;
}

bool Cwd::read(u32 off, u32 &v)
{
	const Traits &t = profile_.traits;
	bool order = off >= t.cwd_gpc_tpc_id && off < t.cwd_gpc_tpc_id + 4 * t.cwd_words;
	bool sms = off >= t.cwd_sm_id && off < t.cwd_sm_id + 4 * t.cwd_words;
	if ((!order && !sms) || off & 3)
		return false;
	if (!has_context())
		v = t.cwd_words > 16 ? 0xbadf1201 : 0;
	else
		v = order ? read_gpc_tpc_id((off - t.cwd_gpc_tpc_id) / 4) : read_sm_id((off - t.cwd_sm_id) / 4);
	return true;
}

bool Cwd::write(u32 off, u32)
{
	u32 v;
	return read(off, v); // the driver of a scenario has written the table
}

// Live counts: FECS_FS 0x409604 4:0 available GPCs (linux-nvgpu hw_gr_*.h gr_fecs_fs_r); ringmaster ENUM_GPC
// 0x120078 4:0; TPCs of logical GPC 0x502608 + 0x8000*lgpc 4:0 (gr_gpc0_fs_gpc_r). Published up to ga10b. While PMC ENABLE
// keeps the graphics engine in reset, its registers read 0xbadf12.. (NV_PPRIV_SYS_PRI_ERROR_CODE_FECS_PRI_RESET of gm107;
// a K80), but not the ringmaster's. A Titan V gives the counts all the same (syntheticChemistry/hotSpring
// data/titanv/nvidia535-vm-captures/artifacts/cold_bar0.json); on Turing assumed.
std::vector<Range> GrCounts::ranges() const
{
	std::vector<Range> r = {{0x409000, 0x1000}, {0x120000, 0x1000}};
	for (unsigned lgpc = 0; lgpc < enabled_gpcs().size(); lgpc++)
		r.push_back({0x502000 + 0x8000 * lgpc, 0x1000});
	return r;
}

std::vector<unsigned> GrCounts::enabled_gpcs() const
{
	std::vector<unsigned> out;
	for (unsigned g = 0; g < profile_.num_gpcs; g++)
		if (!get_bit(profile_.gpc_disabled, g))
			out.push_back(g);
	return out;
}

bool GrCounts::read(u32 off, u32 &v)
{
	auto gpcs = enabled_gpcs();
	bool in_reset = off != 0x120078 && enable_ && !enable_->graphics() && !profile_.traits.host_volta;
	if (off == 0x409604 || off == 0x120078) {
		v = in_reset ? IN_RESET : u32(gpcs.size());
		return true;
	}
	if (off >= 0x502608 && (off - 0x502608) % 0x8000 == 0 && (off - 0x502608) / 0x8000 < gpcs.size()) {
		unsigned g = gpcs[(off - 0x502608) / 0x8000];
		v = in_reset ? IN_RESET
			     : u32(std::popcount(~profile_.tpc_disabled[g] &
						 u32(bit_mask(profile_.tpc_per_gpc - 1, 0))));
		return true;
	}
	return false;
}

bool GrCounts::write(u32 off, u32)
{
	u32 v;
	return read(off, v);
}

} // namespace emu
