// SPDX-License-Identifier: GPL-2.0
// The families, oldest first: each row names its parent and states what differs from it. The sources of a fact are
// named in the unit that models it. Where a chip publishes nothing of its own, the row repeats its parent; "assumed"
// says where.
#include "model/traits.hpp"

namespace emu {

namespace {

constexpr Traits derive(const Traits &parent, const char *name, auto change)
{
	Traits row = parent;
	row.name = name;
	change(row);
	return row;
}

// gk104, gk110
constexpr Traits KEPLER = {.name = "kepler", .pccsr_runlist = true, .bring_up = BringUp::Kepler};

// gm107. Assumed: device table rows as gk20a's header has them; fuses are not published
constexpr Traits MAXWELL1 = derive(KEPLER, "maxwell1", [](Traits &t) {
	t.pccsr_runlist = false;
	t.bring_up = BringUp::Maxwell;
	t.entry_inst = true;
});

// gm20x, gm20b
constexpr Traits MAXWELL2 = derive(MAXWELL1, "maxwell2", [](Traits &t) {
	t.host_cfg = true;
	t.bring_up = BringUp::None;
	t.context_image = ContextImageKind::Gm20b;
	t.pages = PageTables::V1;
	t.rows = DeviceRows::V1NoInstance;
	t.fuse = 0x21000;
	t.cwd_gpc_tpc_id = 0x405b60;
	t.cwd_sm_id = 0x405ba0;
	t.cwd_words = 6;
});

// gp10x, gp10b. Copy map and its packing are known from PEER nvdebug.h only
constexpr Traits PASCAL = derive(MAXWELL2, "pascal", [](Traits &t) {
	t.entry_runqueue = true;
	t.context_image = ContextImageKind::Gp10x;
	t.pages = PageTables::V1orV2;
	t.rows = DeviceRows::V1;
	t.copy = CopyMap::Packed;
	t.cwd_words = 16;
	t.bring_up = BringUp::Pascal;
	t.fault_host0 = 6;
	t.wide_faults = true;
	t.fb = FbSizeReg::LocalMemoryRange;
});

// gv100, gv11b. Copy map at Turing's place: PEER only
constexpr Traits VOLTA = derive(PASCAL, "volta", [](Traits &t) {
	t.host_volta = true;
	t.usermode = true;
	t.entry_bytes = 16;
	t.entry_inst = false;
	t.subcontexts = true;
	t.context_image = ContextImageKind::PerVeid;
	t.pages = PageTables::V2;
	t.copy = CopyMap::Gv100;
});

// tu10x, tu11x
constexpr Traits TURING = derive(VOLTA, "turing", [](Traits &t) {
	t.runlist_readback = false;
	t.runlist_info = true;
	t.vf = true;
	t.bars = BarBlocks::Vf;
});

// ga100. Copy map at ga102's place: PEER only
constexpr Traits AMPERE1 = derive(TURING, "ampere1", [](Traits &t) {
	t.pfifo = false;
	t.bring_up = BringUp::Ampere;
	t.runlist_info = false;
	t.host_cfg = false;
	t.usermode = false;
	t.pages = PageTables::V2Leaf512;
	t.rows = DeviceRows::V2;
	t.fuse = 0x820000;
	t.tpcs_by_turns = true;
	t.copy = CopyMap::Ga102;
});

// ga10x, ga10b
constexpr Traits AMPERE2 = derive(AMPERE1, "ampere2", [](Traits &t) {
	t.submit_shift = 10;
	t.fb = FbSizeReg::UsableFb;
});

// ad10x. Assumed: everything as ga102. Table of TPCs: PEER nvdebug_entry.c (2025)
constexpr Traits ADA = derive(AMPERE2, "ada", [](Traits &t) {
	t.bring_up = BringUp::None;
	t.cwd_gpc_tpc_id = 0x405000;
	t.cwd_sm_id = 0x405100;
	t.cwd_words = 24;
});

// gh100. Assumed: runlist registers, fuse offsets, copy map and context image as ga102
constexpr Traits HOPPER = derive(ADA, "hopper", [](Traits &t) {
	t.pages = PageTables::V3;
	t.bars = BarBlocks::VfWide;
	t.xal_window = 0x003fffff;
	t.pci64 = true;
});

// gb10x. Assumed: runlist registers and context image as gh100, memory size register as ga102
constexpr Traits BLACKWELL1 = derive(HOPPER, "blackwell1", [](Traits &t) {
	t.gp_get_word = 38;
	t.gp_base_word = 36;
	t.pages = PageTables::V3Leaf256G;
	t.fuse_locked = true;
	t.cwd_gpc_tpc_id = t.cwd_sm_id = t.cwd_words = 0;
	t.copy = CopyMap::Locked;
	t.xal_window = 0x007fffff;
});

// gb20x. Assumed: device table as gb100's. Of the runlist registers PREEMPT alone is published: not modelled
constexpr Traits BLACKWELL2 = derive(BLACKWELL1, "blackwell2", [](Traits &t) {
	t.runlists_locked = true;
	t.submit_shift = 8;
	t.pages = PageTables::V3;
});

constexpr const Traits *FAMILIES[] = {&KEPLER,  &MAXWELL1, &MAXWELL2, &PASCAL, &VOLTA,      &TURING,
				      &AMPERE1, &AMPERE2,  &ADA,      &HOPPER, &BLACKWELL1, &BLACKWELL2};

} // namespace

const Traits *find_traits(const std::string &family)
{
	for (const Traits *row : FAMILIES)
		if (family == row->name)
			return row;
	return nullptr;
}

} // namespace emu
