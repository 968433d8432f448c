// SPDX-License-Identifier: GPL-2.0
/*
 * GPU page tables: one walker over formats described as data.
 *
 *	version 1 (Kepler, Maxwell): one directory, indexed by 39:27 (128 KiB big
 *	pages) or 39:26 (64 KiB), of dual entries.
 *
 *	version 2 (Pascal .. Ada)	version 3 (Hopper ..)
 *					PD4	56
 *	PD3	48:47			PD3	55:47
 *	PD2	46:38			PD2	46:38	may map 256 GiB (Blackwell)
 *	PD1	37:29			PD1	37:29	may map 512 MiB
 *	PD0	28:21	may map 2 MiB	PD0	28:21	may map 2 MiB
 *	tables	20:12 and 20:16		tables	20:12 and 20:16
 *
 * Entries of the last directory are dual: a table of big pages and one of 4 KiB pages. A page
 * that the big table does not map is looked up in the small one, unless the invalid big entry
 * forbids it. The format limits the depth, so a loop in the tables ends.
 *
 * Sources: open-gpu-kernel-modules kern_gmmu_fmt_gm10x.c, kern_gmmu_fmt_gp10x.c,
 * kern_gmmu_fmt_gh10x.c, kern_gmmu_fmt_gb10x.c (levels), nouveau vmmgk104.c,
 * vmmgp100.c (PRIVILEGE of an invalid big page), maxwell/gm107/dev_mmu.h, pascal/gp100/dev_mmu.h,
 * hopper/gh100/dev_mmu.h (entries).
 */
#include "core.h"
#include "../include/hw/mmu.h"
#include "../include/hw/ram.h"

static bool mmu_decode_pde_aperture(u64 ap, struct lens_mmu_entry *e)
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

static void mmu_decode_pte_aperture(u64 ap, struct lens_mmu_entry *e)
{
	e->ap = ap == NV_MMU_VER3_PTE_APERTURE_VIDEO_MEMORY ||
		ap == NV_MMU_VER3_PTE_APERTURE_PEER_MEMORY ? LENS_VID : LENS_SYS;
	e->peer = ap == NV_MMU_VER3_PTE_APERTURE_PEER_MEMORY;
}

static void mmu_decode_v1_dual(u64 lo, u64 hi, struct lens_mmu_entry *big,
			       struct lens_mmu_entry *small)
{
	big->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_PDE_APERTURE_BIG, lo), big);
	big->addr = (big->ap == LENS_VID ? DRF_VAL64(NV_MMU_PDE_ADDRESS_BIG_VID, lo) :
					   DRF_VAL64(NV_MMU_PDE_ADDRESS_BIG_SYS, lo))
		    << NV_MMU_PDE_ADDRESS_SHIFT;
	big->size_shift = DRF_VAL64(NV_MMU_PDE_SIZE, lo);
	small->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_PDE_APERTURE_SMALL, lo), small);
	small->addr = (small->ap == LENS_VID ? DRF_VAL64(NV_MMU_PDE_ADDRESS_SMALL_VID, lo) :
					       DRF_VAL64(NV_MMU_PDE_ADDRESS_SMALL_SYS, lo))
		      << NV_MMU_PDE_ADDRESS_SHIFT;
	small->size_shift = big->size_shift;
}

static void mmu_decode_v1_pte(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = DRF_VAL64(NV_MMU_PTE_VALID, raw);
	e->hides_small = DRF_VAL64(NV_MMU_PTE_PRIVILEGE, raw);
	mmu_decode_pte_aperture(DRF_VAL64(NV_MMU_PTE_APERTURE, raw), e);
	e->addr = (e->ap == LENS_VID ? DRF_VAL64(NV_MMU_PTE_ADDRESS_VID, raw) :
				       DRF_VAL64(NV_MMU_PTE_ADDRESS_SYS, raw))
		  << NV_MMU_PTE_ADDRESS_SHIFT;
}

static void mmu_decode_v2_pde(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_VER2_PDE_APERTURE, raw), e);
	e->addr = (e->ap == LENS_VID ? DRF_VAL64(NV_MMU_VER2_PDE_ADDRESS_VID, raw) :
				       DRF_VAL64(NV_MMU_VER2_PDE_ADDRESS_SYS, raw))
		  << NV_MMU_VER2_PDE_ADDRESS_SHIFT;
}

static void mmu_decode_v2_dual(u64 lo, u64 hi, struct lens_mmu_entry *big,
			       struct lens_mmu_entry *small)
{
	big->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_VER2_DUAL_PDE_APERTURE_BIG, lo), big);
	big->addr = (big->ap == LENS_VID ?
		     DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_VID, lo) :
		     DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_SYS, lo))
		    << NV_MMU_VER2_DUAL_PDE_ADDRESS_BIG_SHIFT;
	small->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_VER2_DUAL_PDE_APERTURE_SMALL, hi),
					       small);
	small->addr = (small->ap == LENS_VID ?
		       DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_SMALL_VID, hi) :
		       DRF_VAL64(NV_MMU_VER2_DUAL_PDE_ADDRESS_SMALL_SYS, hi))
		      << NV_MMU_VER2_DUAL_PDE_ADDRESS_SHIFT;
}

static void mmu_decode_v2_pte(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = DRF_VAL64(NV_MMU_VER2_PTE_VALID, raw);
	e->hides_small = DRF_VAL64(NV_MMU_VER2_PTE_PRIVILEGE, raw);
	mmu_decode_pte_aperture(DRF_VAL64(NV_MMU_VER2_PTE_APERTURE, raw), e);
	e->addr = (e->ap == LENS_VID ? DRF_VAL64(NV_MMU_VER2_PTE_ADDRESS_VID, raw) :
				       DRF_VAL64(NV_MMU_VER2_PTE_ADDRESS_SYS, raw))
		  << NV_MMU_VER2_PTE_ADDRESS_SHIFT;
}

static void mmu_decode_v3_pde(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_VER3_PDE_APERTURE, raw), e);
	e->addr = DRF_VAL64(NV_MMU_VER3_PDE_ADDRESS, raw) << NV_MMU_VER3_PDE_ADDRESS_SHIFT;
}

static void mmu_decode_v3_dual(u64 lo, u64 hi, struct lens_mmu_entry *big,
			       struct lens_mmu_entry *small)
{
	big->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_VER3_DUAL_PDE_APERTURE_BIG, lo), big);
	big->addr = DRF_VAL64(NV_MMU_VER3_DUAL_PDE_ADDRESS_BIG, lo)
		    << NV_MMU_VER3_DUAL_PDE_ADDRESS_BIG_SHIFT;
	small->valid = mmu_decode_pde_aperture(DRF_VAL64(NV_MMU_VER3_DUAL_PDE_APERTURE_SMALL, hi),
					       small);
	small->addr = DRF_VAL64(NV_MMU_VER3_DUAL_PDE_ADDRESS_SMALL, hi)
		      << NV_MMU_VER3_DUAL_PDE_ADDRESS_SHIFT;
}

static void mmu_decode_v3_pte(u64 raw, struct lens_mmu_entry *e)
{
	e->valid = DRF_VAL64(NV_MMU_VER3_PTE_VALID, raw);
	e->hides_small = DRF_VAL64(NV_MMU_VER3_PTE_PCF, raw) ==
			 NV_MMU_VER3_PTE_PCF_NO_VALID_4KB_PAGE;
	mmu_decode_pte_aperture(DRF_VAL64(NV_MMU_VER3_PTE_APERTURE, raw), e);
	e->addr = DRF_VAL64(NV_MMU_VER3_PTE_ADDRESS, raw) << NV_MMU_VER3_PTE_ADDRESS_SHIFT;
}

#define MMU_V1(pages, top, index_bits, page_shift) {				\
	.name = "v1 " pages,							\
	.levels = 1,								\
	.level = { { .shift = top, .bits = index_bits, .entry_bytes = 8 } },	\
	.va_bits = 40,								\
	.big_shift = page_shift,						\
	.dual = mmu_decode_v1_dual,						\
	.pte = mmu_decode_v1_pte,						\
}

const struct lens_mmu_format lens_mmu_v1_128k = MMU_V1("128K", 27, 13, 17);
const struct lens_mmu_format lens_mmu_v1_64k = MMU_V1("64K", 26, 14, 16);

const struct lens_mmu_format lens_mmu_v2 = {
	.name = "v2",
	.levels = 4,
	.level = {
		{ .shift = 47, .bits = 2, .entry_bytes = 8 },
		{ .shift = 38, .bits = 9, .entry_bytes = 8 },
		/* 512 MiB pages: GA100 and later; earlier chips never set the bit. */
		{ .shift = 29, .bits = 9, .entry_bytes = 8, .leaf = true },
		{ .shift = 21, .bits = 8, .entry_bytes = 16, .leaf = true },
	},
	.va_bits = 49,
	.big_shift = 16,
	.leaf_bit = true,
	.pde = mmu_decode_v2_pde,
	.dual = mmu_decode_v2_dual,
	.pte = mmu_decode_v2_pte,
};

#define MMU_V3(has_256g) {							\
	.name = "v3",								\
	.levels = 5,								\
	.level = {								\
		{ .shift = 56, .bits = 1, .entry_bytes = 8 },			\
		{ .shift = 47, .bits = 9, .entry_bytes = 8 },			\
		{ .shift = 38, .bits = 9, .entry_bytes = 8, .leaf = has_256g },	\
		{ .shift = 29, .bits = 9, .entry_bytes = 8, .leaf = true },	\
		{ .shift = 21, .bits = 8, .entry_bytes = 16, .leaf = true },	\
	},									\
	.va_bits = 57,								\
	.big_shift = 16,							\
	.leaf_bit = true,							\
	.pde = mmu_decode_v3_pde,						\
	.dual = mmu_decode_v3_dual,						\
	.pte = mmu_decode_v3_pte,						\
}

const struct lens_mmu_format lens_mmu_v3 = MMU_V3(false);
const struct lens_mmu_format lens_mmu_v3_256g = MMU_V3(true);

#define RAMIN_BIT(f, w) DRF_VAL(f, w)	/* all fields used here lie in word 128 */

const struct lens_mmu_format *lens_mmu_select_gk104(u32 ramin_word)
{
	return &lens_mmu_v1_128k;
}

const struct lens_mmu_format *lens_mmu_select_gm200(u32 ramin_word)
{
	return RAMIN_BIT(NV_RAMIN_BIG_PAGE_SIZE, ramin_word) == NV_RAMIN_BIG_PAGE_SIZE_64KB ?
	       &lens_mmu_v1_64k : &lens_mmu_v1_128k;
}

const struct lens_mmu_format *lens_mmu_select_gp100(u32 ramin_word)
{
	return RAMIN_BIT(NV_RAMIN_USE_VER2_PT_FORMAT, ramin_word) ?
	       &lens_mmu_v2 : lens_mmu_select_gm200(ramin_word);
}

const struct lens_mmu_format *lens_mmu_select_v2(u32 ramin_word)
{
	return &lens_mmu_v2;
}

/* Hopper and later ignore the VER2 bit: the open driver sets it or not. */
const struct lens_mmu_format *lens_mmu_select_v3(u32 ramin_word)
{
	return &lens_mmu_v3;
}

const struct lens_mmu_format *lens_mmu_select_gb100(u32 ramin_word)
{
	return &lens_mmu_v3_256g;
}

static int mmu_finish_walk(const struct lens_mmu_entry *pte, u32 shift, u64 va,
			   struct lens_mapping *m)
{
	u64 page = 1ULL << shift;

	/* Another GPU's memory cannot be read through this one. */
	if (pte->peer)
		return -EIO;
	m->ap = pte->ap;
	m->addr = (pte->addr & ~(page - 1)) | (va & (page - 1));
	m->page_bytes = page;
	return 0;
}

/*
 * Read a table entry, or take it from the cache. The cache is a hash table of eight
 * probes per address, in which nothing is replaced.
 */
static int mmu_read_entry(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 words,
			  u64 *raw, struct lens_walk_cache *c)
{
	u32 i, slot = (u32)(addr >> 3 ^ addr >> 13) % LENS_CACHE_WORDS;
	/* Bit 0: the slot is used; bit 1: it has two words. Entries are aligned. */
	u64 key = addr | (words > 1 ? 3 : 1);
	int err;

	for (i = 0; c && i < 8; i++) {
		u32 at = (slot + i) % LENS_CACHE_WORDS;

		if (c->word[at].addr == key && c->word[at].ap == ap) {
			raw[0] = c->word[at].raw[0];
			if (words > 1)
				raw[1] = c->word[at].raw[1];
			return 0;
		}
		if (c->word[at].addr)
			continue;
		err = lens_copy_memory(gpu, ap, addr, raw, words);
		if (err)
			return err;
		c->word[at].addr = key;
		c->word[at].ap = ap;
		c->word[at].raw[0] = raw[0];
		c->word[at].raw[1] = words > 1 ? raw[1] : 0;
		c->used++;
		return 0;
	}
	return lens_copy_memory(gpu, ap, addr, raw, words);
}

#define HIDDEN 1

/* One table of a dual entry. -EFAULT: it does not map va; HIDDEN: the other must not be used. */
static int mmu_try_table(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
			 const struct lens_mmu_entry *table, u32 shift, u64 va,
			 struct lens_mapping *m, struct lens_walk_cache *cache)
{
	u32 top = fmt->level[fmt->levels - 1].shift;
	u64 index = va >> shift & ((1ULL << (top - shift)) - 1);
	struct lens_mmu_entry pte = { 0 };
	u64 raw;
	int err;

	if (!table->valid || index >= 1ULL << (top - shift) >> table->size_shift)
		return -EFAULT;
	err = mmu_read_entry(gpu, table->ap, table->addr + index * 8, 1, &raw, cache);
	if (err)
		return err;
	fmt->pte(raw, &pte);
	if (!pte.valid)
		return pte.hides_small ? HIDDEN : -EFAULT;
	return mmu_finish_walk(&pte, shift, va, m);
}

int lens_mmu_translate(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		       enum lens_aperture root_ap, u64 root, u64 va, struct lens_mapping *m,
		       struct lens_walk_cache *cache)
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
		raw[1] = 0;
		err = mmu_read_entry(gpu, e.ap, e.addr + index * l->entry_bytes,
				     l->entry_bytes / 8, raw, cache);
		if (err)
			return err;
		memset(&e, 0, sizeof(e));
		if (fmt->leaf_bit && raw[0] & 1) {
			if (!l->leaf)
				return -EIO;
			fmt->pte(raw[0], &e);
			return mmu_finish_walk(&e, l->shift, va, m);
		}
		if (i < fmt->levels - 1u) {
			fmt->pde(raw[0], &e);
			if (!e.valid)
				return -EFAULT;
		}
	}
	fmt->dual(raw[0], raw[1], &e, &small);
	err = mmu_try_table(gpu, fmt, &e, fmt->big_shift, va, m, cache);
	if (err == -EFAULT)
		err = mmu_try_table(gpu, fmt, &small, 12, va, m, cache);
	return err == HIDDEN ? -EFAULT : err;
}
