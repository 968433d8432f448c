// SPDX-License-Identifier: GPL-2.0
/*
 * GPU page tables: one walker over formats described as data.
 *
 *	version 2 (Pascal .. Ada)	version 3 (Hopper ..)
 *					PD4	56
 *	PD3	48:47			PD3	55:47
 *	PD2	46:38			PD2	46:38
 *	PD1	37:29			PD1	37:29	may map 512 MiB
 *	PD0	28:21	may map 2 MiB	PD0	28:21	may map 2 MiB
 *	tables	20:12 and 20:16		tables	20:12 and 20:16
 *
 * PD0 entries are dual: one table of 64 KiB pages and one of 4 KiB pages; a page
 * that the big table does not map is looked up in the small one. The depth is
 * the format's, so that no loop in the tables can hold the walker.
 *
 * Sources: open-gpu-kernel-modules kern_gmmu_fmt_gp10x.c, kern_gmmu_fmt_gh10x.c
 * (levels), pascal/gp100/dev_mmu.h, hopper/gh100/dev_mmu.h (entries).
 */
#include "core.h"
#include "../include/hw/mmu.h"

static bool pde_aperture(u64 ap, struct lens_mmu_entry *e)
{
	switch (ap) {
	case NV_MMU_VER3_PDE_APERTURE_VIDEO_MEMORY:
		e->ap = LENS_VID;
		return true;
	case NV_MMU_VER3_PDE_APERTURE_SYSTEM_COHERENT_MEMORY:
	case NV_MMU_VER3_PDE_APERTURE_SYSTEM_NON_COHERENT_MEMORY:
		e->ap = LENS_SYS;
		return true;
	}
	return false;
}

static void pte_aperture(u64 ap, struct lens_mmu_entry *e)
{
	e->ap = ap == NV_MMU_VER3_PTE_APERTURE_VIDEO_MEMORY ||
		ap == NV_MMU_VER3_PTE_APERTURE_PEER_MEMORY ? LENS_VID : LENS_SYS;
	e->peer = ap == NV_MMU_VER3_PTE_APERTURE_PEER_MEMORY;
}

static void v2_pde(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = pde_aperture(DRF_VAL64(NV_MMU_VER2_PDE_APERTURE, raw), e);
	e->addr = (e->ap == LENS_VID ? DRF_VAL64(NV_MMU_VER2_PDE_ADDRESS_VID, raw) :
				       DRF_VAL64(NV_MMU_VER2_PDE_ADDRESS_SYS, raw))
		  << NV_MMU_VER2_PDE_ADDRESS_SHIFT;
}

static void v2_dual(u64 lo, u64 hi, struct lens_mmu_entry *big, struct lens_mmu_entry *small)
{
	big->valid = pde_aperture(DRF_VAL64(NV_MMU_VER2_DUAL_PDE_APERTURE_BIG, lo), big);
	big->addr = (big->ap == LENS_VID ?
		     DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_VID, lo) :
		     DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_SYS, lo))
		    << NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_SHIFT;
	small->valid = pde_aperture(DRF_VAL64(NV_MMU_VER2_DUAL_PDE_APERTURE_SMALL, hi), small);
	small->addr = (small->ap == LENS_VID ?
		       DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_SMALL_VID, hi) :
		       DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_SMALL_SYS, hi))
		      << NV_MMU_VER2_DUAL_PDE_ADDRESS_SHIFT;
}

static void v2_pte(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = DRF_VAL64(NV_MMU_VER2_PTE_VALID, raw);
	pte_aperture(DRF_VAL64(NV_MMU_VER2_PTE_APERTURE, raw), e);
	e->addr = (e->ap == LENS_VID ? DRF_VAL64(NV_MMU_VER2_PTE_ADDRESS_VID, raw) :
				       DRF_VAL64(NV_MMU_VER2_PTE_ADDRESS_SYS, raw))
		  << NV_MMU_VER2_PTE_ADDRESS_SHIFT;
}

static void v3_pde(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = pde_aperture(DRF_VAL64(NV_MMU_VER3_PDE_APERTURE, raw), e);
	e->addr = DRF_VAL64(NV_MMU_VER3_PDE_ADDRESS, raw) << NV_MMU_VER3_PDE_ADDRESS_SHIFT;
}

static void v3_dual(u64 lo, u64 hi, struct lens_mmu_entry *big, struct lens_mmu_entry *small)
{
	big->valid = pde_aperture(DRF_VAL64(NV_MMU_VER3_DUAL_PDE_APERTURE_BIG, lo), big);
	big->addr = DRF_VAL64(NV_MMU_VER3_DUAL_PDE_ADDRESS_BIG, lo)
		    << NV_MMU_VER3_DUAL_PDE_ADDRESS_BIG_SHIFT;
	small->valid = pde_aperture(DRF_VAL64(NV_MMU_VER3_DUAL_PDE_APERTURE_SMALL, hi), small);
	small->addr = DRF_VAL64(NV_MMU_VER3_DUAL_PDE_ADDRESS_SMALL, hi)
		      << NV_MMU_VER3_DUAL_PDE_ADDRESS_SHIFT;
}

static void v3_pte(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = DRF_VAL64(NV_MMU_VER3_PTE_VALID, raw);
	pte_aperture(DRF_VAL64(NV_MMU_VER3_PTE_APERTURE, raw), e);
	e->addr = DRF_VAL64(NV_MMU_VER3_PTE_ADDRESS, raw) << NV_MMU_VER3_PTE_ADDRESS_SHIFT;
}

const struct lens_mmu_format lens_mmu_v2 = {
	.name = "version 2",
	.levels = 4,
	.level = {
		{ .shift = 47, .bits = 2, .entry_bytes = 8 },
		{ .shift = 38, .bits = 9, .entry_bytes = 8 },
		/* 512 MiB pages here are of GA100 and later; earlier chips never set the bit. */
		{ .shift = 29, .bits = 9, .entry_bytes = 8, .leaf = true },
		{ .shift = 21, .bits = 8, .entry_bytes = 16, .leaf = true },
	},
	.va_bits = 49,
	.big_shift = 16,
	.pde = v2_pde,
	.dual = v2_dual,
	.pte = v2_pte,
};

const struct lens_mmu_format lens_mmu_v3 = {
	.name = "version 3",
	.levels = 5,
	.level = {
		{ .shift = 56, .bits = 1, .entry_bytes = 8 },
		{ .shift = 47, .bits = 9, .entry_bytes = 8 },
		{ .shift = 38, .bits = 9, .entry_bytes = 8 },
		{ .shift = 29, .bits = 9, .entry_bytes = 8, .leaf = true },
		{ .shift = 21, .bits = 8, .entry_bytes = 16, .leaf = true },
	},
	.va_bits = 57,
	.big_shift = 16,
	.pde = v3_pde,
	.dual = v3_dual,
	.pte = v3_pte,
};

static int finish(const struct lens_mmu_entry *pte, u32 shift, u64 va, struct lens_mapping *m)
{
	u64 page = 1ULL << shift;

	/* Another GPU's memory cannot be reached from here. */
	if (pte->peer)
		return -EIO;
	m->ap = pte->ap;
	m->addr = (pte->addr & ~(page - 1)) | (va & (page - 1));
	m->page_bytes = page;
	return 0;
}

/* One of the two tables under a dual entry. -EFAULT: it does not map va. */
static int try_table(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		     const struct lens_mmu_entry *table, u32 shift, u64 va, struct lens_mapping *m)
{
	u32 top = fmt->level[fmt->levels - 1].shift;
	u64 index = va >> shift & ((1ULL << (top - shift)) - 1);
	struct lens_mmu_entry pte = { 0 };
	u64 raw;
	int err;

	if (!table->valid)
		return -EFAULT;
	err = gpu->io->ops->copy(gpu->io, table->ap, table->addr + index * 8, &raw, 1);
	if (err)
		return err;
	fmt->pte(raw, &pte);
	return pte.valid ? finish(&pte, shift, va, m) : -EFAULT;
}

int lens_mmu_translate(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		       enum lens_aperture root_ap, u64 root, u64 va, struct lens_mapping *m)
{
	struct lens_mmu_entry e = { .valid = true, .ap = root_ap, .addr = root };
	struct lens_mmu_entry small = { 0 };
	const struct lens_mmu_level *l;
	u64 raw[2] = { 0 }, index;
	u32 i;
	int err;

	memset(m, 0, sizeof(*m));
	if (va >> fmt->va_bits)
		return -EFAULT;
	for (i = 0; i < fmt->levels; i++) {
		l = &fmt->level[i];
		index = va >> l->shift & ((1ULL << l->bits) - 1);
		err = gpu->io->ops->copy(gpu->io, e.ap, e.addr + index * l->entry_bytes, raw,
					 l->entry_bytes / 8);
		if (err)
			return err;
		memset(&e, 0, sizeof(e));
		/* Bit 0 of any entry: this is a page, not a table. */
		if (raw[0] & 1) {
			if (!l->leaf)
				return -EIO;
			fmt->pte(raw[0], &e);
			return finish(&e, l->shift, va, m);
		}
		if (l->entry_bytes == 8) {
			fmt->pde(raw[0], &e);
			if (!e.valid)
				return -EFAULT;
		}
	}
	fmt->dual(raw[0], raw[1], &e, &small);
	err = try_table(gpu, fmt, &e, fmt->big_shift, va, m);
	if (err == -EFAULT)
		err = try_table(gpu, fmt, &small, 12, va, m);
	return err;
}
