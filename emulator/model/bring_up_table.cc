// SPDX-License-Identifier: GPL-2.0
// Registers that a driver reads or writes when it starts, and that have no effect here. Each row names its source: DOC
// and OGK as in emulator/README.md; "nouveau" where that driver is the only one, with its file below nvkm/. What a
// register reads is "assumed" where no source says so.
#include "model/bring_up.hpp"

#include <algorithm>
#include <bit>

namespace emu {

namespace {

constexpr u32 READ_ONLY = 0, VF_PRIV = 0xb80000;
constexpr unsigned TYPE_LCE = 19; // EngineInfo::type

// Memory controllers. Where the profile does not say which groups (FBPs) are off, it is assumed: as many of them are
// there as share the memory evenly in MiB, the first ones. Of each group the same part of its L2 slices is there, too.
struct Fbpas {
	explicit Fbpas(const Profile &p) : total(p.num_fbpas), present(p.num_fbpas)
	{
		const u64 memory_mib = p.memory_bytes >> 20;
		if (p.num_fbps && total >= p.num_fbps)
			per_fbp = total / p.num_fbps;
		for (unsigned i = 0; p.fbp_disabled && i < total; i++)
			absent |= u32(get_bit(*p.fbp_disabled, i / per_fbp)) << i;
		present -= unsigned(std::popcount(absent));
		while (!p.fbp_disabled && present && memory_mib % present)
			absent |= 1u << --present;
		mib = present ? u32(memory_mib / present) : 0;
	}
	unsigned absent_in(unsigned fbp) const
	{
		return unsigned(std::popcount(absent >> fbp * per_fbp & u32(bit_mask(per_fbp - 1, 0))));
	}

	unsigned total, present, per_fbp = 1;
	u32 absent = 0, mib; // mib: of each
};

void add_rows(std::vector<KeptRegister> &to, std::initializer_list<KeptRegister> rows)
{
	to.insert(to.end(), rows);
}

void add_pascal(std::vector<KeptRegister> &all)
{
	// replayable faults: place, size, get and put of the buffer (nouveau subdev/fault/gp100.c); the size is assumed
	add_rows(all, {
			      {.offset = 0x2a70, .count = 2},
			      {.offset = 0x2a78, .reset = 128, .writable = READ_ONLY},
			      {.offset = 0x2a7c},
			      {.offset = 0x2a80, .writable = READ_ONLY},
		      });
}

void add_volta(std::vector<KeptRegister> &all)
{
	// two fault buffers: LO, HI, GET, PUT (OGK volta/gv100/dev_fb.h has the last two), SIZE; 256 entries are assumed.
	// Interrupts of the hub, none pending, and their enables; what faulted: nothing (nouveau subdev/fault/gv100.c)
	add_rows(all, {
			      {.offset = 0x100a20, .writable = READ_ONLY},
			      {.offset = 0x100a2c},
			      {.offset = 0x100a34},
			      {.offset = 0x100e24, .count = 2, .stride = 20},
			      {.offset = 0x100e28, .count = 2, .stride = 20},
			      {.offset = 0x100e2c, .count = 2, .stride = 20},
			      {.offset = 0x100e30, .writable = READ_ONLY, .count = 2, .stride = 20},
			      {.offset = 0x100e34, .reset = 256, .writable = 0xe0000000, .count = 2, .stride = 20},
			      {.offset = 0x100e4c, .writable = READ_ONLY, .count = 6},
		      });
}

// Turing and Ampere, whose headers agree: AON_SECURE_SCRATCH_GROUP_05 of GFW boot, MMU of the virtual function.
void add_vf(std::vector<KeptRegister> &all)
{
	add_rows(
		all,
		{
			// readable, and GFW_BOOT_PROGRESS completed (OGK turing/tu102/dev_gc6_island.h, ampere/ga102/
			// dev_gc6_island.h, their _addendum.h)
			{.offset = 0x118128, .reset = 0x1, .writable = READ_ONLY},
			{.offset = 0x118234, .reset = 0xff, .writable = READ_ONLY},
			// two fault buffers: LO, HI, GET, PUT, SIZE (OGK turing/tu102/dev_vm.h, DOC ampere/ga102/
			// dev_vm.ref.txt); 256 entries are assumed. What faulted 0x3080 to 0x3094: nothing.
			// INVALIDATE_PDB, its upper half, INVALIDATE: no TLB, nothing to do
			{.offset = VF_PRIV + 0x3000, .count = 2, .stride = 32},
			{.offset = VF_PRIV + 0x3004, .count = 2, .stride = 32},
			{.offset = VF_PRIV + 0x3008, .count = 2, .stride = 32},
			{.offset = VF_PRIV + 0x300c, .writable = READ_ONLY, .count = 2, .stride = 32},
			{.offset = VF_PRIV + 0x3010, .reset = 256, .writable = 0xe0000000, .count = 2, .stride = 32},
			{.offset = VF_PRIV + 0x3080, .writable = READ_ONLY, .count = 6},
			{.offset = VF_PRIV + 0x30a0, .count = 2},
			{.offset = VF_PRIV + 0x30b0, .writable = 0x7fffffff},
			// written before INVALIDATE (nouveau subdev/mmu/vmmtu102.c)
			{.offset = 0x100e68},
			// INT_VECTOR_INFO_FAULT, INT_VECTOR_FAULT(i): ERROR 15:0, NOTIFY 31:16 (DOC turing/tu104/pri_mmu_hub.ref.txt;
			// the vectors: ampere/host/ampere_interrupt_map.csv). 0 is the buffer that is not replayable (OGK
			// g_kern_gmmu_nvoc.h). No fault is reported
			{.offset = 0x100ee0, .reset = 134, .writable = READ_ONLY},
			{.offset = 0x100ee4, .reset = 132u << 16 | 133, .writable = READ_ONLY},
			{.offset = 0x100ee8, .reset = 64u << 16 | 131, .writable = READ_ONLY},
			// bit 4: protected memory is locked (nouveau subdev/fb/tu102.c)
			{.offset = 0x1fa80c, .writable = READ_ONLY},
		});
}

void add_turing(std::vector<KeptRegister> &all)
{
	add_vf(all);
	add_rows(
		all,
		{
			// CPU_INTR_LEAF, LEAF_EN_SET, LEAF_EN_CLEAR, TOP, TOP_EN_SET, TOP_EN_CLEAR (OGK turing/tu102/dev_vm.h):
			// nothing is ever pending in that tree
			{.offset = VF_PRIV + 0x1000, .writable = READ_ONLY, .count = 8},
			{.offset = VF_PRIV + 0x1200, .count = 8},
			{.offset = VF_PRIV + 0x1400, .count = 8},
			{.offset = VF_PRIV + 0x1600, .writable = READ_ONLY},
			{.offset = VF_PRIV + 0x1608},
			{.offset = VF_PRIV + 0x1610},
			// bit 31 enables the doorbell; engines whose context switch timed out: none (nouveau engine/fifo/tu102.c)
			{.offset = 0xb65000},
			{.offset = 0x2a30, .writable = READ_ONLY},
		});
}

void add_from_pascal(std::vector<KeptRegister> &all, const Profile &p)
{
	const Fbpas fbpas(p);
	add_rows(
		all,
		{
			// PMC: INTR_LTC, INTR_FBPA (DOC pascal/gp100-msi-intr.txt)
			{.offset = 0x1c0, .writable = READ_ONLY},
			{.offset = 0x1d0, .writable = READ_ONLY},
			// straps: nouveau engine/device/base.c (crystal 27 MHz: bit 22), subdev/fb/base.c (memory 5:2). Assumed: 27 MHz,
			// memory 0, which scripts/lib/vbios.py describes
			{.offset = 0x101000, .reset = 0x00400000},
			// SCAL NUM_FBPA_PER_FBP (DOC pascal/gp100-fbpa.txt)
			{.offset = 0x22458, .reset = fbpas.per_fbp, .writable = READ_ONLY},
			// FUSE: STATUS_OPT_DISPLAY (OGK maxwell/gm107/dev_fuse.h), a set bit: there is none. Copy engines 0x21c00
			// (nouveau subdev/devinit/gm107.c), STATUS_OPT_FBIO 0x21c14 and ROP_L2_FBP(i) 0x21d70 (DOC pascal/
			// gp100-fbpa.txt), FBPs 0x21d38 (nouveau subdev/fb/ramgm200.c)
			{.offset = 0x21c00, .writable = READ_ONLY},
			{.offset = 0x21c04, .reset = 0x1, .writable = READ_ONLY},
			{.offset = 0x21c14, .reset = fbpas.absent, .writable = READ_ONLY},
			{.offset = 0x21d38, .reset = p.fbp_disabled.value_or(0), .writable = READ_ONLY},
			// FBPA: RAMAMOUNT of each (DOC pascal/gp100-fbpa.txt), in MiB (nouveau subdev/fb/ramgp100.c); of the group
			// and 0x10ecc0 what nouveau subdev/fb/ramgp100.c writes
			{.offset = 0x90020c,
			 .reset = fbpas.mib,
			 .writable = READ_ONLY,
			 .count = p.num_fbpas,
			 .stride = 0x4000},
			{.offset = 0x9a0160},
			{.offset = 0x9a0584},
			{.offset = 0x9a065c},
			{.offset = 0x10ecc0},
			// MMU: nouveau subdev/fb/gp100.c, gp102.c (0x100cd0 bit 4: protected memory is locked), subdev/mmu/vmmgp100.c
			// (0x100cec)
			{.offset = 0x100cc4, .count = 3},
			{.offset = 0x100cd0, .writable = 0x2},
			{.offset = 0x100cec},
			// LTC: count of the PRI ring 0x12006c, slices 0x17e280 31:28, ZBC table (nouveau subdev/ltc/gp100.c,
			// gm107.c, gp102.c; 0x17e204 its stencils)
			{.offset = 0x12006c,
			 .reset = p.num_ltcs * fbpas.present / std::max(fbpas.total, 1u),
			 .writable = READ_ONLY},
			{.offset = 0x17e280, .reset = p.slices_per_ltc << 28, .writable = READ_ONLY},
			{.offset = 0x17e338, .count = 7},
			{.offset = 0x17e204},
			// temperature: bit 29 valid, 8.5 fixed point (nouveau subdev/therm/gp100.c); 40 C is assumed
			{.offset = 0x20460, .reset = 0x20002800, .writable = READ_ONLY},
		});
	for (u32 fbp = 0; fbp < p.num_fbps; fbp++) {
		u32 ltcs = fbpas.absent_in(fbp) * p.ltc_per_fbp / fbpas.per_fbp; // that are off, the last ones
		u32 off = ltcs ? u32(bit_mask(p.ltc_per_fbp - 1, p.ltc_per_fbp - ltcs)) : 0;
		add_rows(all, {{.offset = 0x21d70 + 4 * fbp, .reset = off, .writable = READ_ONLY}});
	}
	if (p.traits.vf)
		add_turing(all);
	else if (p.traits.host_volta)
		add_volta(all);
	else
		add_pascal(all);
	if (p.traits.host_volta) // copies of the MMU's registers (nouveau subdev/fb/gp100.c)
		add_rows(all, {{.offset = 0x1fac80}, {.offset = 0x1facc4, .count = 3}});
}

// Kepler and first Maxwell: nouveau is the only source but where another one is named.
void add_before_pascal(std::vector<KeptRegister> &all, const Profile &p)
{
	const u32 fbps = p.num_fbps, mib = u32((p.memory_bytes >> 20) / std::max(fbps, 1u));
	add_rows(
		all,
		{
			// 0x1850 disables the ROM (subdev/mc/nv04.c)
			{.offset = 0x1850},
			// straps as in add_from_pascal(), memory 1
			{.offset = 0x101000, .reset = 0x00400004},
			// FBPAs in all, assumed one for each FBP (subdev/fb/ramgf108.c), those that are off (ramgf100.c, ramgk104.c),
			// configuration and memory in MiB of each, and of all what ramgk104.c writes
			{.offset = 0x2243c, .reset = fbps, .writable = READ_ONLY},
			{.offset = 0x22554, .writable = READ_ONLY},
			{.offset = 0x110204, .writable = READ_ONLY, .count = fbps, .stride = 0x1000},
			{.offset = 0x11020c, .reset = mib, .writable = READ_ONLY, .count = fbps, .stride = 0x1000},
			{.offset = 0x10ecc0},
			{.offset = 0x10f160},
			{.offset = 0x10f584},
			{.offset = 0x10f65c},
			// FUSE: temperature sensor 0x1a8 (subdev/fuse/gf100.c, subdev/therm/g84.c): there is one. Speed of the silicon
			// 0x3a8, assumed, and what is written around its reading (subdev/volt/gk104.c)
			{.offset = 0x212a8, .reset = 0x1, .writable = READ_ONLY},
			{.offset = 0x214a8, .reset = 0x1, .writable = READ_ONLY},
			{.offset = 0x122634},
			// PTHERM: interrupts and their status, two of the sensor, degrees Celsius (subdev/therm/g84.c), 40 C is assumed;
			// the fan's tachometer (gf119.c, gt215.c)
			{.offset = 0x20000},
			{.offset = 0x20008},
			{.offset = 0x2000c},
			{.offset = 0x20100, .writable = READ_ONLY},
			{.offset = 0x20400, .reset = 40, .writable = READ_ONLY},
			{.offset = 0xe720},
			{.offset = 0xe728, .writable = READ_ONLY},
			// PRI ring: what nouveau sets of its stations (subdev/privring/gk104.c)
			{.offset = 0x122310},
			{.offset = 0x122318, .count = 2},
			{.offset = 0x122348},
			{.offset = 0x122358},
			{.offset = 0x1223b0},
			// PMU, which answers as nouveau's own program for it would: rings from and to the host, bytes 31:16, place 15:0
			// (subdev/pmu/fuc/host.fuc, gf119.fuc4.h, gk208.fuc5.h); nothing is ever sent. Ports of its memories, start
			// address, start, enables of interrupts (subdev/pmu/gt215.c)
			{.offset = 0x10a4d0, .reset = 0x00800270, .writable = READ_ONLY},
			{.offset = 0x10a4dc, .reset = 0x008002f0, .writable = READ_ONLY},
			{.offset = 0x10a010},
			{.offset = 0x10a100, .writable = READ_ONLY},
			{.offset = 0x10a104},
			{.offset = 0x10a180, .count = 3},
			{.offset = 0x10a1c0, .count = 2},
			// clocks (subdev/clk/gk104.c): sources, dividers, and which are of a PLL. All 0: the crystal's, no PLL
			{.offset = 0x137100, .writable = READ_ONLY},
			{.offset = 0x137160, .writable = READ_ONLY, .count = 16},
			{.offset = 0x1371d0, .writable = READ_ONLY, .count = 16},
			{.offset = 0x137250, .writable = READ_ONLY, .count = 16},
			{.offset = 0x1373f4, .writable = READ_ONLY},
		});
}

void add_kepler(std::vector<KeptRegister> &all)
{
	add_rows(
		all,
		{
			// PTIMER: numerator and denominator of its clock, and a multiplier (subdev/timer/nv41.c, regsnv04.h).
			// Time here goes in ns whatever they say
			{.offset = 0x9200},
			{.offset = 0x9210},
			{.offset = 0x9220},
			// units that are off: 0x22500 bit 0 the display (subdev/devinit/gf100.c), GPCs 0x22504, 0x22584 and FBPs
			// 0x22548, 0x225c8 (engine/pm/gf100.c)
			{.offset = 0x22500, .reset = 0x1, .writable = READ_ONLY},
			{.offset = 0x22504, .writable = READ_ONLY},
			{.offset = 0x22548, .writable = READ_ONLY},
			{.offset = 0x22584, .writable = READ_ONLY},
			{.offset = 0x225c8, .writable = READ_ONLY},
			// two enables of reading fuses (subdev/fuse/gf100.c)
			{.offset = 0x22400},
			{.offset = 0x21000},
			// falcons of MSVLD, MSPDEC and MSPPP: what nouveau writes when it ends (engine/falcon.c)
			{.offset = 0x84014, .count = 3, .stride = 0x1000},
			{.offset = 0x84048, .count = 3, .stride = 0x1000},
			// LTC: slices 0x17e8dc 31:28, assumed 4; number of LTCs, place and kind of compression tags, table of
			// clear values (subdev/ltc/gk104.c, gf100.c)
			{.offset = 0x17e000},
			{.offset = 0x17e8c0},
			{.offset = 0x17e8d4, .count = 2},
			{.offset = 0x17e8dc, .reset = 4u << 28, .writable = READ_ONLY},
			{.offset = 0x17ea44, .count = 6},
		});
}

void add_maxwell(std::vector<KeptRegister> &all)
{
	add_rows(
		all,
		{
			// fuses of units that are off: copy engines, display (STATUS_OPT_DISPLAY: OGK maxwell/gm107/dev_fuse.h),
			// FBPAs (subdev/devinit/gm107.c, subdev/fb/ramgm107.c)
			{.offset = 0x21c00, .writable = READ_ONLY},
			{.offset = 0x21c04, .reset = 0x1, .writable = READ_ONLY},
			{.offset = 0x21c14, .writable = READ_ONLY},
			// LTC: slices 0x17e280 31:28, assumed 4; number of LTCs, place and kind of compression tags, table of
			// clear values (subdev/ltc/gm107.c)
			{.offset = 0x17e264},
			{.offset = 0x17e278, .count = 2},
			{.offset = 0x17e280, .reset = 4u << 28, .writable = READ_ONLY},
			{.offset = 0x17e338, .count = 6},
		});
}

// GA100 and GA102. What their headers lack is as on earlier chips where nouveau reads it alike.
void add_ampere(std::vector<KeptRegister> &all, const Profile &p)
{
	add_vf(all);
	add_rows(
		all,
		{
			// PMC: ENABLE, DEVICE_ENABLE (OGK ampere/ga102/dev_boot.h), all on at first (assumed); nothing follows
			{.offset = 0x200, .reset = ~0u},
			{.offset = 0x600, .reset = ~0u},
			// straps as in add_from_pascal()
			{.offset = 0x101000, .reset = 0x00400000},
			// FUSE: STATUS_OPT_DISPLAY (OGK ampere/ga100/dev_fuse.h), a set bit: there is none
			{.offset = 0x820c04, .reset = 0x1, .writable = READ_ONLY},
			// FBPA: of the group and 0x10ecc0 what nouveau subdev/fb/ramgp100.c writes
			{.offset = 0x9a0160},
			{.offset = 0x9a0584},
			{.offset = 0x9a065c},
			{.offset = 0x10ecc0},
			// MMU: nouveau subdev/fb/gp100.c, and the copies there
			{.offset = 0x100cc4, .count = 3},
			{.offset = 0x1fac80},
			{.offset = 0x1facc4, .count = 3},
			// LTC as in add_from_pascal()
			{.offset = 0x12006c, .reset = p.num_ltcs, .writable = READ_ONLY},
			{.offset = 0x17e280, .reset = p.slices_per_ltc << 28, .writable = READ_ONLY},
			{.offset = 0x17e338, .count = 7},
			{.offset = 0x17e204},
			// PMGR: interrupts of GPIO lines, never pending, and their enables (nouveau subdev/gpio/ga102.c)
			{.offset = 0x21640, .writable = READ_ONLY},
			{.offset = 0x21648},
			{.offset = 0x2164c, .writable = READ_ONLY},
			{.offset = 0x21654},
		});
	// copy engines: vectors without and with a stall (nouveau engine/ce/ga100.c), as units.hpp has them
	for (const EngineInfo &e : p.engines)
		if (u32 id = u32(e.engine_id); e.type == TYPE_LCE)
			add_rows(all,
				 {{.offset = 0x104424 + 0x80 * e.instance, .reset = id, .writable = READ_ONLY},
				  {.offset = 0x10442c + 0x80 * e.instance, .reset = 192 + id, .writable = READ_ONLY}});
	// PBDMA: INTR_0, INTR_1, and their enables of two trees (DOC ampere/ga100/dev_pbdma.ref.txt); none is ever pending
	add_rows(all, {
			      {.offset = 0x40108, .writable = READ_ONLY, .count = p.num_pbdma, .stride = 0x800},
			      {.offset = 0x40148, .writable = READ_ONLY, .count = p.num_pbdma, .stride = 0x800},
			      {.offset = 0x40170, .count = p.num_pbdma, .stride = 0x800},
			      {.offset = 0x40180, .count = p.num_pbdma, .stride = 0x800},
			      {.offset = 0x40190, .count = p.num_pbdma, .stride = 0x800},
			      {.offset = 0x401a0, .count = p.num_pbdma, .stride = 0x800},
		      });
}

// Every chip.
void add_common(std::vector<KeptRegister> &all, const Profile &p)
{
	const Traits &t = p.traits;
	const u32 mmu_ctrl = 0x00208000 | (t.pfifo && t.vf ? 1u << 27 : t.pfifo && t.host_volta ? 1 : 0);
	add_rows(
		all,
		{
			// PBUS INTR_0, INTR_EN_0 (DOC volta/gv100/dev_bus.ref.txt): never pending here
			{.offset = 0x1100, .writable = READ_ONLY},
			{.offset = 0x1140},
			// PTIMER PRI_TIMEOUT_SAVE_0, SAVE_1 (DOC volta/gv100/dev_timer.ref.txt): nothing timed out
			{.offset = 0x9084, .count = 2},
			// NV_UFLUSH: FB_FLUSH and the four beside it (OGK maxwell/gm107/dev_flush.h); bit 1, outstanding (nouveau
			// subdev/bar/g84.c), is never set, since memory is written at once
			{.offset = 0x70000, .writable = READ_ONLY, .count = 5},
			// MMU: CTRL with PRI_FIFO_EMPTY and PRI_FIFO_SPACE 32 (DOC volta/gv100/pri_mmu_both.ref.txt; a K80), on Turing
			// with ATOMIC_CAPABILITY_SYS_NCOH_MODE 27 (DOC turing/tu104/pri_mmu_both.ref.txt). Bit 0, VM_PG_SIZE of
			// linux-nvgpu hw_fb_gk20a.h, is in no later manual, and set on a Titan V after POST. NISO_FLUSH_SYSMEM_ADDR
			// (OGK maxwell/gm107/dev_fb.h)
			{.offset = 0x100c80, .reset = mmu_ctrl, .writable = 0xff001fff},
			{.offset = 0x100c10, .count = 2},
			// PRI ring: interrupts 0x120058, 0x12005c, hub and ROP stations (nouveau subdev/privring/gk104.c)
			{.offset = 0x120058, .writable = READ_ONLY, .count = 2},
			{.offset = 0x120070, .reset = 1, .writable = READ_ONLY},
			{.offset = 0x120074,
			 .reset = p.num_fbps - u32(std::popcount(p.fbp_disabled.value_or(0))),
			 .writable = READ_ONLY},
			// PMGR: interrupts of GPIO lines and of display ports, never pending, and their enables (nouveau
			// subdev/gpio/gk104.c, subdev/i2c/gk104.c)
			{.offset = 0xdc00, .writable = READ_ONLY},
			{.offset = 0xdc08},
			{.offset = 0xdc60, .writable = READ_ONLY},
			{.offset = 0xdc68},
			{.offset = 0xdc80, .writable = READ_ONLY},
			{.offset = 0xdc88},
		});
}

// Kepler to Turing.
void add_before_ampere(std::vector<KeptRegister> &all, const Profile &p)
{
	// PBDMA's INTR_STALL by DOC turing/tu104/dev_pbdma.ref.txt. A Titan V has bit 29, too, which no manual names. Before
	// Volta all are assumed: nouveau clears bits 28 and 8 (engine/fifo/gk104.c). INTR_STALL_1 there: envytools
	// rnndb/fifo/gf100_pfifo.xml
	const bool volta = p.traits.host_volta;
	const u32 volta_stall = p.traits.vf ? 0xcffffeff : 0xeffffeff, pbdmas = u32(bit_mask(p.num_pbdma - 1, 0));
	add_rows(
		all,
		{
			// PMC: enables of the PBDMAs, all on (DOC volta/gv100/dev_master.ref.txt; a K80 has three)
			{.offset = 0x204, .reset = pbdmas, .writable = pbdmas},
			// bit 1: devinit has run (nouveau subdev/devinit/gf100.c)
			{.offset = 0x2240c, .reset = 0x2},
			// MMU: INVALIDATE_PDB, INVALIDATE (OGK maxwell/gm107/dev_fb.h): no TLB, nothing to do
			{.offset = 0x100cb8},
			{.offset = 0x100cbc, .writable = 0x7fffffff},
			// PMU, a falcon without a program: IRQMCLR +0x14, DMACTL +0x10c with both scrubbings done (OGK turing/tu102/
			// dev_falcon_v4.h), idle state +0x4c, reset +0x3c0 (nouveau subdev/pmu/base.c, gp102.c)
			{.offset = 0x10a014},
			{.offset = 0x10a04c, .writable = READ_ONLY},
			{.offset = 0x10a10c, .writable = 0x1},
			{.offset = 0x10a3c0, .writable = 0x1},
			// PFIFO: place of USERD in BAR1 0x2254, errors 0x252c, 0x256c, PBDMAs with interrupts 0x25a0
			// (nouveau engine/fifo/gk104.c): nothing is ever wrong
			{.offset = 0x2254},
			{.offset = 0x252c, .writable = READ_ONLY},
			{.offset = 0x256c, .writable = READ_ONLY},
			{.offset = 0x25a0, .writable = READ_ONLY},
			// INTR_STALL (DOC volta/gv100/dev_fifo.ref.txt; before Volta as on a K80): nothing follows
			{.offset = 0x2530,
			 .reset = volta ? 0x01810101u : 0x09810111u,
			 .writable = volta ? 0xe1810101u : 0xf9810111u},
			// timeout of FB: PERIOD 29:0 (linux-nvgpu hw_fifo_gk20a.h to hw_fifo_tu104.h, INIT of the last three), DETECTION
			// 31 (hw_fifo_gv11b.h); at reset as on a Titan V
			{.offset = 0x2a04, .reset = 0x80003c00, .writable = 0xbfffffff},
			// PBDMA: METHOD0, DATA0, INTR_0, INTR_EN_0, TIMEOUT, INTR_STALL, INTR_STALL_1, INTR_1, INTR_EN_1, HCE_DBG0 and 1
			// (DOC volta/gv100/dev_pbdma.ref.txt; TIMEOUT before Volta assumed alike); no interrupt is ever pending
			{.offset = 0x400c0, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x400c4, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x40108, .writable = READ_ONLY, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x4010c, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x4012c, .reset = 0x00010000, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x4013c, .reset = volta ? volta_stall : ~0u, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x40140,
			 .reset = volta ? 0x8000001fu : 0x1fu,
			 .writable = volta ? 0x8000001fu : 0x1fu,
			 .count = p.num_pbdma,
			 .stride = 0x2000},
			{.offset = 0x40148, .writable = READ_ONLY, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x4014c, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x40150, .writable = READ_ONLY, .count = p.num_pbdma, .stride = 0x2000},
			{.offset = 0x40154, .writable = READ_ONLY, .count = p.num_pbdma, .stride = 0x2000},
		});
	if (p.traits.bring_up == BringUp::Pascal)
		add_from_pascal(all, p);
	else
		add_before_pascal(all, p);
	if (p.traits.bring_up == BringUp::Kepler)
		add_kepler(all);
	else if (p.traits.bring_up == BringUp::Maxwell)
		add_maxwell(all);
}

} // namespace

std::vector<KeptRegister> kept_registers(const Profile &p)
{
	std::vector<KeptRegister> all;
	add_common(all, p);
	if (p.traits.bring_up == BringUp::Ampere)
		add_ampere(all, p);
	else
		add_before_ampere(all, p);
	return all;
}

} // namespace emu
