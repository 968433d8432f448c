// SPDX-License-Identifier: GPL-2.0
// What a generation has and where: one row per family, read by the units instead of family names. Facts about one
// chip (counts, sizes, engines) are in its profile. How to add a generation: emulator/README.md.
#pragma once
#include "model/bits.hpp"

#include <string>

namespace emu {

enum class PageTables { V1Big128, V1, V1orV2, V2, V2Leaf512, V3, V3Leaf256G };
enum class BarBlocks { Pbus, Vf, VfWide };
enum class ContextImageKind { Unpublished, Gm20b, Gp10x, PerVeid };
enum class CopyMap { None, Packed, Gv100, Ga102, Locked };
enum class FbSizeReg { None, LocalMemoryRange, UsableFb };
enum class DeviceRows { V1Bare, V1NoInstance, V1, V2 };       // which rows of the device table exist
enum class BringUp { None, Kepler, Maxwell, Pascal, Ampere }; // what a driver asks for when it starts

// The defaults are those of Kepler.
struct Traits {
	const char *name = nullptr;

	// Host
	bool pfifo = true;            // PFIFO and PCCSR; otherwise NV_RUNLIST and NV_CHRAM
	bool runlist_readback = true; // RUNLIST_BASE 0x2270 and ENG_RUNLIST 0x2280; otherwise 0x2b00 (with pfifo)
	bool runlist_info = false;    // 0x3400
	bool runlists_locked = false; // NV_RUNLIST is not published: reads give 0xbadf5100
	unsigned submit_shift = 12;   // alignment of a runlist, NV_RUNLIST
	bool host_cfg = false;        // CFG0 0x2004, CFG1 0x2008
	bool host_volta = false;      // RUNLIST_PREEMPT, instance pointers of engines and PBDMAs, fault bits in PCCSR
	bool pccsr_runlist = false;   // PCCSR CHANNEL 19:16 is the channel's runlist
	bool usermode = false;        // 0x810000: time and doorbell
	bool vf = false;              // 0xb80000: time and doorbell
	unsigned fault_host0 = 7;     // MMU fault id of PBDMA 0, up to Pascal
	bool wide_faults = false;     // fields of a reported MMU fault as on Pascal

	// Structures in memory
	unsigned entry_bytes = 8; // of a runlist entry
	bool entry_inst = false;  // word 1 of an 8-byte channel entry is the instance block >> 12
	bool entry_runqueue = false;
	bool subcontexts = false;
	unsigned gp_get_word = 5, gp_base_word = 18; // of RAMFC
	ContextImageKind context_image = ContextImageKind::Unpublished;
	PageTables pages = PageTables::V1Big128;

	// Identification of the chip
	DeviceRows rows = DeviceRows::V1Bare;
	u32 fuse = 0;             // base of the fuse block; 0: not published, absent
	bool fuse_locked = false; // privilege mask or not published: reads give 0xbadf5100
	CopyMap copy = CopyMap::None;
	FbSizeReg fb = FbSizeReg::None;
	u32 cwd_gpc_tpc_id = 0, cwd_sm_id = 0; // the table of TPCs; 0: not published, absent
	unsigned cwd_words = 0;                // of each of the two
	bool tpcs_by_turns = false;            // TPCs are numbered by turns over the GPCs, not GPC by GPC
	BringUp bring_up = BringUp::None;      // on cards with their own memory

	// BARs
	BarBlocks bars = BarBlocks::Pbus;
	u32 xal_window = 0; // mask of BASE in the window register at 0x10fd40; 0: window at 0x1700
	bool pci64 = false; // all BARs are 64 bits wide: indices 0, 2, 4
};

// Returns null for an unknown name.
const Traits *find_traits(const std::string &family);

} // namespace emu
