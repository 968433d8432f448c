// SPDX-License-Identifier: GPL-2.0
/*
 * From a channel's instance block to its context image, and the preemption
 * words in it.
 *
 *	instance block	words 128, 129	page directory
 *			words 132, 133	where the context is saved, a virtual address
 *					where MODE says so
 *	context image	0x0c CTL	type; since Volta a per-VEID header (0x21) may
 *					stand first, whose 0x78/0x7c name the image
 *			0x80, 0x84	graphics and compute preemption
 *			0xfc		magic
 *
 * Nothing is written unless the magic stands where the manual puts it. FECS
 * reads the words when it next loads the context.
 *
 * Sources: open-gpu-doc ampere/ga100/dev_ram.ref.txt (RAMIN), ampere/ga102/
 * dev_ctxsw.ref.txt; the per-VEID header: linux-nvgpu ctxsw_prog_gv11b_fusa.c.
 */
#include "core.h"
#include "../include/hw/ctxsw.h"
#include "../include/hw/ram.h"

#define RAMIN_FIRST_WORD	128	/* words 128 .. 135 are all that is needed */
#define RAMIN_WORDS		8

struct context {
	enum lens_aperture root_ap;
	u64 root;			/* page directory */
	bool virtual;
	enum lens_aperture image_ap;	/* when not virtual */
	u64 image;			/* address of the image's first byte */
};

/* Field f of RAMIN, numbered over the whole block, in the words that were read. */
#define RAMIN(f, w) DRF_VAL(f, (w)[DRF_LO(f) / 32 - RAMIN_FIRST_WORD])

static int read_inst(struct lens_gpu *gpu, enum lens_aperture ap, u64 inst, struct context *c)
{
	u64 raw[RAMIN_WORDS / 2];
	u32 w[RAMIN_WORDS], i;
	int err;

	err = gpu->io->ops->copy(gpu->io, ap, inst + RAMIN_FIRST_WORD * 4, raw,
				 LENS_ARRAY_SIZE(raw));
	if (err)
		return err;
	for (i = 0; i < RAMIN_WORDS; i++)
		w[i] = (u32)(raw[i / 2] >> (i % 2 * 32));

	/* Pascal may still use tables of version 1; later chips know no others than theirs. */
	if (gpu->chip->ctxsw == LENS_CTXSW_MAIN && !RAMIN(NV_RAMIN_USE_VER2_PT_FORMAT, w))
		return -EOPNOTSUPP;
	err = lens_target_aperture(RAMIN(NV_RAMIN_PAGE_DIR_BASE_TARGET, w), &c->root_ap);
	if (err)
		return err;
	c->root = (u64)RAMIN(NV_RAMIN_PAGE_DIR_BASE_HI, w) << 32 |
		  RAMIN(NV_RAMIN_PAGE_DIR_BASE_LO, w) << NV_RAMIN_BASE_SHIFT;
	c->virtual = RAMIN(NV_RAMIN_ENGINE_WFI_MODE, w) == NV_RAMIN_ENGINE_WFI_MODE_VIRTUAL;
	c->image = (u64)RAMIN(NV_RAMIN_ENGINE_WFI_PTR_HI, w) << 32 |
		   RAMIN(NV_RAMIN_ENGINE_WFI_PTR_LO, w) << NV_RAMIN_BASE_SHIFT;
	/* A channel without a graphics context (of a copy engine, say) has nothing to change. */
	if (!c->image)
		return -ENOENT;
	return lens_target_aperture(RAMIN(NV_RAMIN_ENGINE_WFI_TARGET, w), &c->image_ap);
}

/* Where a byte of the image lies. */
static int locate(struct lens_gpu *gpu, const struct context *c, u32 off, enum lens_aperture *ap,
		  u64 *addr)
{
	struct lens_mapping m;
	int err;

	if (!c->virtual) {
		*ap = c->image_ap;
		*addr = c->image + off;
		return 0;
	}
	err = lens_mmu_translate(gpu, gpu->chip->mmu, c->root_ap, c->root, c->image + off, &m);
	*ap = m.ap;
	*addr = m.addr;
	/* Nothing mapped where the instance block points: its own nonsense. */
	return err == -EFAULT ? -EIO : err;
}

static int read_word(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 *val)
{
	u64 raw;
	int err;

	err = gpu->io->ops->copy(gpu->io, ap, addr & ~7ULL, &raw, 1);
	*val = (u32)(addr & 4 ? raw >> 32 : raw);
	return err;
}

/* Follow a per-VEID header to the main image and find where that lies. */
static int find_image(struct lens_gpu *gpu, struct context *c, enum lens_aperture *ap, u64 *addr)
{
	u32 ctl, lo, hi;
	int err;

	err = locate(gpu, c, 0, ap, addr);
	if (err || gpu->chip->ctxsw != LENS_CTXSW_VEID)
		return err;
	err = read_word(gpu, *ap, *addr + NV_CTXSW_MAIN_IMAGE_CTL, &ctl);
	if (err)
		return err;
	if (DRF_VAL(NV_CTXSW_MAIN_IMAGE_CTL_TYPE, ctl) !=
	    NV_CTXSW_MAIN_IMAGE_CTL_TYPE_PER_VEID_HEADER)
		return 0;
	err = read_word(gpu, *ap, *addr + NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR, &lo);
	if (!err)
		err = read_word(gpu, *ap, *addr + NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR_HI, &hi);
	if (err)
		return err;
	c->image = (u64)DRF_VAL(NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR_HI_V, hi) << 32 | lo;
	return locate(gpu, c, 0, ap, addr);
}

int lens_context_set_preemption(struct lens_gpu *gpu, enum lens_aperture inst_ap, u64 inst,
				enum lens_preemption mode)
{
	u32 magic, gfx = NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS_CONTROL_WFI;
	struct context c;
	enum lens_aperture ap;
	u32 compute;
	u64 addr;
	int err;

	err = read_inst(gpu, inst_ap, inst, &c);
	if (!err)
		err = find_image(gpu, &c, &ap, &addr);
	if (!err)
		err = read_word(gpu, ap, addr + NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1, &magic);
	if (err)
		return err;
	if (magic != NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1_V_VALUE)
		return -EOPNOTSUPP;

	switch (mode) {
	case LENS_PREEMPT_CTA:
		compute = NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL_CTA;
		break;
	case LENS_PREEMPT_CILP:
		compute = NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL_CILP;
		break;
	default:
		compute = NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL_WFI;
	}
	/*
	 * CTA says nothing about graphics, so its word stays. Instruction-level
	 * compute beside graphics preemption is refused by nvgpu, so it goes to
	 * WFI first.
	 */
	if (mode != LENS_PREEMPT_CTA) {
		err = gpu->io->ops->store32(gpu->io, ap,
			addr + NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS, gfx);
		if (err)
			return err;
	}
	return gpu->io->ops->store32(gpu->io, ap,
		addr + NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS, compute);
}
