// SPDX-License-Identifier: GPL-2.0
// What a generation has and where: one row per family, read by the units instead of family names. Facts about one
// chip (counts, sizes, engines) are in its profile. A new generation is a row here and a profile.
// Sources are named in the units that model the registers; traits.cc says which columns are assumed for which row.
#pragma once
#include <cstdint>
#include <string>

namespace emu {

enum class Family {
	Kepler,     // gk104, gk110
	Maxwell1,   // gm107
	Maxwell2,   // gm20x, gm20b
	Pascal,     // gp10x, gp10b
	Volta,      // gv100, gv11b
	Turing,     // tu10x, tu11x
	Ampere1,    // ga100
	Ampere2,    // ga10x, ga10b
	Ada,        // ad10x
	Hopper,     // gh100
	Blackwell1, // gb10x
	Blackwell2, // gb20x
};

enum class PageTables { V1Big128, V1, V1orV2, V2, V2Leaf512, V3, V3Leaf256G };
enum class BarBlocks { Pbus, Vf, VfWide };
enum class ImageKind { Unpublished, Gm20b, Gp10x, PerVeid };
enum class CopyMap { None, Packed, Gv100, Ga102, Locked };
enum class FbSizeReg { None, LocalMemoryRange, UsableFb };
enum class Rows { V1Bare, V1NoInstance, V1, V2 }; // which rows of the device table exist

struct Traits {
	const char *name;
	Family family;
	bool pfifo;           // PFIFO and PCCSR; otherwise RLRAM and CHRAM
	unsigned entry_bytes; // of a runlist entry
	bool entry_inst;      // word 1 of an 8-byte channel entry is the instance block >> 12
	bool entry_runqueue;
	bool tsg_headers;      // false: only channels stand on a runlist (gk104)
	bool runlist_readback; // RUNLIST_BASE 0x2270 and ENG_RUNLIST 0x2280; otherwise 0x2b00 (with pfifo)
	bool host_cfg;         // CFG0 0x2004, CFG1 0x2008
	bool host_volta;       // RUNLIST_PREEMPT, instance pointers of engines and PBDMAs, fault bits in PCCSR
	bool runlist_info;     // 0x3400
	bool pccsr_runlist;    // PCCSR CHANNEL 19:16 is the channel's runlist
	bool usermode;         // 0x810000: time and doorbell
	bool vf;               // 0xb80000: time and doorbell
	unsigned submit_shift; // alignment of a runlist, RLRAM
	bool rlram_locked;     // layout not published: reads give 0xbadf5100
	Rows rows;
	uint32_t fuse;    // base of the fuse block; 0: not published, absent
	bool fuse_locked; // privilege mask or not published: reads give 0xbadf5100
	CopyMap copy;
	FbSizeReg fb;
	BarBlocks bars;
	uint32_t xal_window; // mask of BASE in the window register at 0x10fd40; 0: window at 0x1700
	bool pci64;          // all BARs are 64 bits wide: indices 0, 2, 4
	PageTables pages;
	ImageKind image;
	bool subcontexts;
};

// Throws for a name it does not know.
const Traits &traits_of(const std::string &family);

} // namespace emu
