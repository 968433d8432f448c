// SPDX-License-Identifier: GPL-2.0
// The MMU as a reader of page tables: GPU virtual address -> physical address, for BAR1, BAR2 and context images.
// It never writes a table (driver/page_tables.hpp does, as the driver would). No TLB: every use walks.
//
//   version  level: virtual bits, entry bytes
//   V2       PD3 48:47,8   PD2 46:38,8   PD1 37:29,8   PD0 28:21,16   PT4K 20:12,8 | PT64K 20:16,8
//   V3       PD4 56,8   PD3 55:47,8   PD2 46:38,8   PD1 37:29,8   PD0 28:21,16   PTs as V2
// Sources: open-gpu-kernel-modules kern_gmmu_fmt_gp10x.c, kern_gmmu_fmt_gh10x.c (levels);
// pascal/gp100/dev_mmu.h NV_MMU_VER2_*, hopper/gh100/dev_mmu.h NV_MMU_VER3_* (entries).
#pragma once
#include "model/memory.hpp"

#include <optional>

namespace emu {

enum class PteVersion { V2, V3 };

// The page directory base of an instance block: RAMIN words 128 and 129.
// DOC ampere/ga100/dev_ram.ref.txt NV_RAMIN_PAGE_DIR_BASE_*; target 1 is invalid there.
std::optional<Phys> page_dir_base(const Memories &mem, Phys instance_block);

std::optional<Phys> translate(const Memories &mem, PteVersion version, Phys pdb, uint64_t va);

} // namespace emu
