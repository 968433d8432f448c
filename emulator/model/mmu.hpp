// SPDX-License-Identifier: GPL-2.0
// The MMU as a reader of page tables: GPU virtual address -> physical address, for BAR1, BAR2 and context images.
// It never writes a table (driver/page_tables.hpp does, as the driver would). No TLB: every use walks.
//
//   version  level: virtual bits, entry bytes
//   V1 128K  PD 39:27,8   small PT 26:12,8 | big PT 26:17,8                              gk, gm, gp with USE_VER2 0
//   V1 64K   PD 39:26,8   small PT 25:12,8 | big PT 25:16,8                              gm20x, gp with USE_VER2 0
//   V2       PD3 48:47,8   PD2 46:38,8   PD1 37:29,8   PD0 28:21,16   PT4K 20:12,8 | PT64K 20:16,8      gp .. ad
//   V3       PD4 56,8   PD3 55:47,8   PD2 46:38,8   PD1 37:29,8   PD0 28:21,16   PTs as V2               gh, gb
//   pages above a table: 2M in PD0 (V2, V3), 512M in PD1 (ga100.., V3), 256G in PD2 (gb10x)
// Sources: open-gpu-kernel-modules kern_gmmu_fmt_gm10x.c, kern_gmmu_fmt_gp10x.c, kern_gmmu_fmt_ga10x.c,
// kern_gmmu_fmt_gh10x.c, kern_gmmu_fmt_gb10x.c (levels); maxwell/gm107/dev_mmu.h NV_MMU_PDE, NV_MMU_PTE,
// pascal/gp100/dev_mmu.h NV_MMU_VER2_*, hopper/gh100/dev_mmu.h NV_MMU_VER3_* (entries). nouveau vmmgk104.c and
// vmmgp100.c: a big page entry that is invalid but says so specially hides the small pages below it.
#pragma once
#include "model/memory.hpp"
#include "model/traits.hpp"

#include <optional>

namespace emu {

enum class PteVersion { V1, V2, V3 };

struct PageFormat {
	PteVersion version = PteVersion::V2;
	unsigned big_shift = 16; // 17: V1's 128 KiB pages
	bool leaf_512m = false, leaf_256g = false;
};

// What a generation's driver normally uses; Pascal: V2. v1, big64: the choices that gp and gm20x have.
PageFormat usual_format(PageTables pages);
std::optional<PageFormat> v1_format(PageTables pages, unsigned big_shift); // none: the chip cannot

struct SpaceRef {
	Phys pdb;
	PageFormat format;
};

// The address space of an instance block: RAMIN words 128 and 129, on gp with USE_VER2 10, on gm20x and gp V1 with
// BIG_PAGE_SIZE 11 (0: 128 KiB, 1: 64 KiB). DOC ampere/ga100/dev_ram.ref.txt NV_RAMIN_PAGE_DIR_BASE_*, OGK
// pascal/gp100/dev_ram.h, linux-nvgpu hw_ram_gm20b.h. Target 1 is invalid.
std::optional<SpaceRef> address_space(const Memories &mem, PageTables pages, Phys instance_block);

std::optional<Phys> translate(const Memories &mem, const SpaceRef &space, u64 va);

} // namespace emu
