// SPDX-License-Identifier: GPL-2.0
// The MMU as a reader of page tables: GPU virtual address -> physical address, for BAR1, BAR2 and context images. No
// TLB: every use walks. driver/page_tables.hpp writes tables. Levels and sources: emulator/README.md, "Page tables".
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
