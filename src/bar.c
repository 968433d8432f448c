// SPDX-License-Identifier: GPL-2.0
/*
 * BAR1 and BAR2: how the GPU's driver has set them up, and which offset maps an
 * address of memory.
 *
 *	Kepler .. Volta	NV_PBUS_BAR1_BLOCK, NV_PBUS_BAR2_BLOCK
 *	Turing .. Ada	NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK, the same fields
 *	Hopper ..	..._FUNC_BAR1_BLOCK_LOW_ADDR and _HIGH_ADDR
 *
 * Each names an instance block, whose words 128 and 129 name the page directory.
 * Sources: open-gpu-kernel-modules maxwell/gm107/dev_bus.h, turing/tu102/dev_vm.h,
 * hopper/gh100/dev_vm.h; ampere/ga100/dev_ram.ref.txt of open-gpu-doc (RAMIN).
 */
#include "core.h"
#include "../include/gpulens/bar.h"
#include "../include/hw/bus.h"
#include "../include/hw/ram.h"

static int bar_read_block(struct lens_gpu *gpu, u32 off, struct lens_bar *b)
{
	u32 v;
	int err = lens_rd32(gpu, off, &v);

	if (err)
		return err;
	b->is_virtual = DRF_VAL(NV_PBUS_BAR1_BLOCK_MODE, v) == NV_PBUS_BAR1_BLOCK_MODE_VIRTUAL;
	b->target = DRF_VAL(NV_PBUS_BAR1_BLOCK_TARGET, v);
	b->inst = (u64)DRF_VAL(NV_PBUS_BAR1_BLOCK_PTR, v) << NV_PBUS_BAR1_BLOCK_PTR_SHIFT;
	return 0;
}

int lens_bar_read_block_pbus(struct lens_gpu *gpu, u32 bar, struct lens_bar *b)
{
	return bar_read_block(gpu, bar == 1 ? NV_PBUS_BAR1_BLOCK : NV_PBUS_BAR2_BLOCK, b);
}

int lens_bar_read_block_vf(struct lens_gpu *gpu, u32 bar, struct lens_bar *b)
{
	return bar_read_block(gpu, NV_VIRTUAL_FUNCTION_PRIV_START +
			  (bar == 1 ? NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK :
				      NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK), b);
}

int lens_bar_read_block_vf_wide(struct lens_gpu *gpu, u32 bar, struct lens_bar *b)
{
	u32 at = NV_VIRTUAL_FUNCTION_PRIV_START, lo, hi;
	int err;

	err = lens_rd32(gpu, at + (bar == 1 ? NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR :
				   NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR2_BLOCK_LOW_ADDR), &lo);
	if (!err)
		err = lens_rd32(gpu, at + (bar == 1 ?
				NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_HIGH_ADDR :
				NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR2_BLOCK_HIGH_ADDR), &hi);
	if (err)
		return err;
	b->is_virtual = DRF_VAL(NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_MODE, lo) ==
			NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_MODE_VIRTUAL;
	b->target = DRF_VAL(NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_TARGET, lo);
	b->inst = (u64)hi << 32 |
		  DRF_VAL(NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_PTR, lo)
		  << DRF_LO(NV_VIRTUAL_FUNCTION_PRIV_FUNC_BAR1_BLOCK_LOW_ADDR_PTR);
	return 0;
}

static int bar_read_directory(struct lens_gpu *gpu, struct lens_bar *b)
{
	enum lens_aperture ap;
	u32 w[2];
	u64 raw;
	int err;

	err = lens_decode_target(b->target, &ap);
	if (!err)
		err = lens_copy_memory(gpu, ap,
				       b->inst + DRF_LO(NV_RAMIN_PAGE_DIR_BASE_LO) / 32 * 4,
				       &raw, 1);
	if (err)
		return err;
	w[0] = (u32)raw;
	w[1] = (u32)(raw >> 32);
	b->mmu = gpu->chip->mmu(w[0]);
	b->pdb_target = DRF_VAL(NV_RAMIN_PAGE_DIR_BASE_TARGET, w[0]);
	b->pdb = (u64)DRF_VAL(NV_RAMIN_PAGE_DIR_BASE_HI, w[1]) << 32 |
		 DRF_VAL(NV_RAMIN_PAGE_DIR_BASE_LO, w[0]) << NV_RAMIN_BASE_SHIFT;
	return lens_decode_target(b->pdb_target, &ap);
}

int lens_bar_read(struct lens_gpu *gpu, u32 bar, struct lens_bar *b)
{
	memset(b, 0, sizeof(*b));
	/* A Tegra has no BAR2, because it has no memory of its own for instance blocks. */
	if (!gpu->known || !gpu->chip->bar_block || !gpu->chip->mmu || (gpu->id->soc && bar == 2))
		return -EOPNOTSUPP;
	b->err = gpu->chip->bar_block(gpu, bar, b);
	if (!b->err && b->is_virtual)
		b->err = bar_read_directory(gpu, b);
	return b->err == -ENODEV ? b->err : 0;
}

struct bar_search {
	struct lens_bar_find *find;
	u32 n;
};

static int bar_match_page(u64 va, const struct lens_mapping *m, void *arg)
{
	struct bar_search *l = arg;
	u32 i, left = 0;

	for (i = 0; i < l->n; i++) {
		struct lens_bar_find *f = &l->find[i];

		if (!f->found && f->ap == m->ap && f->addr - m->addr < m->page_bytes) {
			f->found = true;
			f->offset = va + (f->addr - m->addr);
		}
		left += !f->found;
	}
	return !left;
}

int lens_bar_lookup(struct lens_gpu *gpu, const struct lens_bar *b, struct lens_mmu_scan *room,
		    struct lens_bar_find *find, u32 n)
{
	struct bar_search l = { .find = find, .n = n };
	enum lens_aperture ap;
	u32 i;
	int err;

	for (i = 0; i < n; i++) {
		find[i].found = !b->err && !b->is_virtual && find[i].ap == LENS_VID;
		find[i].offset = find[i].addr;
	}
	if (b->err || !b->is_virtual)
		return b->err;
	err = lens_decode_target(b->pdb_target, &ap);
	if (!err)
		err = lens_mmu_for_each(gpu, b->mmu, ap, b->pdb, room, bar_match_page, &l);
	return err > 0 ? 0 : err;
}

int lens_bars_collect(struct lens_gpu *gpu, struct lens_bars *bars, struct lens_mmu_scan *room,
		      u32 words)
{
	struct lens_runlist_regs regs;
	enum lens_aperture ap;
	u32 i, bar;

	memset(bars, 0, sizeof(*bars));
	for (i = 0; lens_gpu_has_host(gpu) && i < gpu->topo.n_runlists; i++) {
		if (lens_runlist_read_regs(gpu, &gpu->topo.runlists[i], &regs) || !regs.base ||
		    lens_decode_target(regs.target, &ap))
			continue;
		for (bar = 0; bar < LENS_BARS; bar++) {
			bars->find[bar][bars->n].ap = ap;
			bars->find[bar][bars->n].addr = regs.base;
		}
		bars->target[bars->n] = regs.target;
		bars->runlist[bars->n++] = gpu->topo.runlists[i].id;
	}
	for (bar = 0; bar < LENS_BARS; bar++) {
		bars->err[bar] = lens_bar_read(gpu, bar + 1, &bars->bar[bar]);
		if (bars->err[bar] == -ENODEV)
			return -ENODEV;
		if (bars->err[bar])
			continue;
		room->words_left = words;
		bars->err[bar] = lens_bar_lookup(gpu, &bars->bar[bar], room, bars->find[bar],
						 bars->n);
		if (bars->err[bar] == -ENODEV)
			return -ENODEV;
	}
	return 0;
}
