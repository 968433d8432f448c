// SPDX-License-Identifier: GPL-2.0
/*
 * From a channel's instance block to its context image: decoding both, and
 * writing the preemption words.
 *
 *	instance block	word 63		VEID of the channel (Volta ..)
 *			words 128, 129	page directory
 *			words 132, 133	where the context is saved, a virtual address
 *					where MODE says so
 *			words 166, 167	which subcontexts have a page directory (Volta ..)
 *	context image	0x0c CTL	type; since Volta a per-VEID header (0x21) may
 *					stand first, whose 0x78/0x7c name the image
 *			0x80, 0x84	graphics and compute preemption
 *			0xd0 .. 0xf8	how often it was saved, its id
 *			0xfc		magic
 *
 * The contexts of a runlist are read in passes (instance blocks, locations of the
 * images, images), so that the window moves seldom. A pass reads a few channels per
 * use of the window. System memory cannot be read meanwhile, so channels whose
 * pass begins there, or leads there, are read afterwards, from the start of the pass.
 *
 * Nothing is written unless the magic number is found. FECS reads the words when it
 * loads the context the next time.
 *
 * Sources: open-gpu-doc ampere/ga100/dev_ram.ref.txt (RAMIN), dev_pbdma.ref.txt
 * (SET_CHANNEL_INFO), ampere/ga102/dev_ctxsw.ref.txt; the per-VEID header:
 * linux-nvgpu ctxsw_prog_gv11b_fusa.c.
 */
#include "core.h"
#include "../include/hw/ctxsw.h"
#include "../include/hw/pbdma.h"
#include "../include/hw/ram.h"

/* Words that are read: 62, 63; 128 .. 133; 166, 167, in pairs aligned to 8 bytes. */
#define RAMIN_WORDS	10

static const u8 inst_ramin_words[RAMIN_WORDS / 2] = { 62, 128, 130, 132, 166 };

struct inst_ramin {
	u32 w[RAMIN_WORDS];
};

/* Word n of the block, which must be one that was read. */
static u32 inst_get_word(const struct inst_ramin *r, u32 n)
{
	u32 i;

	for (i = 0; i < LENS_ARRAY_SIZE(inst_ramin_words); i++)
		if (n - inst_ramin_words[i] < 2)
			return r->w[2 * i + n - inst_ramin_words[i]];
	return 0;
}

#define RAMIN(f, r) DRF_VAL(f, inst_get_word(r, DRF_LO(f) / 32))

static bool inst_has_veid(const struct lens_gpu *gpu)
{
	return gpu->chip->ctxsw == LENS_CTXSW_VEID;
}

static int inst_read_ramin(struct lens_gpu *gpu, enum lens_aperture ap, u64 inst,
			   struct inst_ramin *r)
{
	u64 raw;
	u32 i;
	int err;

	memset(r, 0, sizeof(*r));
	for (i = 0; i < LENS_ARRAY_SIZE(inst_ramin_words); i++) {
		/* VEID and subcontexts: Volta and later. Words 130 and 131 are not used. */
		if (inst_ramin_words[i] == 130 ||
		    ((inst_ramin_words[i] == 62 || inst_ramin_words[i] == 166) &&
		     !inst_has_veid(gpu)))
			continue;
		err = lens_copy_memory(gpu, ap, inst + inst_ramin_words[i] * 4U, &raw, 1);
		if (err)
			return err;
		r->w[2 * i] = (u32)raw;
		r->w[2 * i + 1] = (u32)(raw >> 32);
	}
	return 0;
}

static int inst_decode_ramin(struct lens_gpu *gpu, const struct inst_ramin *r,
			     struct lens_context *c)
{
	u32 word128 = inst_get_word(r, DRF_LO(NV_RAMIN_PAGE_DIR_BASE_LO) / 32);
	enum lens_aperture ap;

	c->mmu = gpu->chip->mmu(word128);
	c->target = RAMIN(NV_RAMIN_PAGE_DIR_BASE_TARGET, r);
	c->pdb = (u64)RAMIN(NV_RAMIN_PAGE_DIR_BASE_HI, r) << 32 |
		 RAMIN(NV_RAMIN_PAGE_DIR_BASE_LO, r) << NV_RAMIN_BASE_SHIFT;
	if (inst_has_veid(gpu)) {
		c->veid = DRF_VAL(NV_PPBDMA_SET_CHANNEL_INFO_VEID, inst_get_word(r, 63));
		c->subcontexts = (u64)inst_get_word(r, 167) << 32 | inst_get_word(r, 166);
	}
	c->is_virtual = RAMIN(NV_RAMIN_ENGINE_WFI_MODE, r) == NV_RAMIN_ENGINE_WFI_MODE_VIRTUAL;
	c->wfi_va = (u64)RAMIN(NV_RAMIN_ENGINE_WFI_PTR_HI, r) << 32 |
		    RAMIN(NV_RAMIN_ENGINE_WFI_PTR_LO, r) << NV_RAMIN_BASE_SHIFT;
	c->image_va = c->wfi_va;
	/* Aperture of an image with a physical address. */
	if (lens_decode_target(RAMIN(NV_RAMIN_ENGINE_WFI_TARGET, r), &c->ap))
		c->image_err = -EIO;
	/* No graphics context, for example of a copy engine's channel. */
	if (!c->image_va)
		c->image_err = -ENOENT;
	return lens_decode_target(c->target, &ap);
}

static int inst_read_pair(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 w[2])
{
	u64 raw;
	int err = lens_copy_memory(gpu, ap, addr, &raw, 1);

	w[0] = (u32)raw;
	w[1] = (u32)(raw >> 32);
	return err;
}

/* Set c->ap and c->addr to the location of c->image_va. */
static int inst_locate_image(struct lens_gpu *gpu, struct lens_context *c,
			     struct lens_walk_cache *cache)
{
	struct lens_mapping m;
	enum lens_aperture root;
	int err;

	if (!c->is_virtual) {
		c->addr = c->image_va;
		return 0;
	}
	err = lens_decode_target(c->target, &root);
	if (!err)
		err = lens_mmu_translate(gpu, c->mmu, root, c->pdb, c->image_va, &m, cache);
	if (err)
		/* The instance block names an unmapped address. */
		return err == -EFAULT ? -EIO : err;
	c->ap = m.ap;
	c->addr = m.addr;
	return 0;
}

/* Locate the main image, which a per-VEID header may precede. */
static int inst_find_image(struct lens_gpu *gpu, struct lens_context *c,
			   struct lens_walk_cache *cache)
{
	u32 w[2];
	int err;

	/* An earlier attempt may have reached the header. */
	c->image_va = c->wfi_va;
	err = inst_locate_image(gpu, c, cache);
	if (err || !inst_has_veid(gpu))
		return err;
	err = inst_read_pair(gpu, c->ap, c->addr + (NV_CTXSW_MAIN_IMAGE_CTL & ~7), w);
	if (err)
		return err;
	c->ctl = w[1];
	if (DRF_VAL(NV_CTXSW_MAIN_IMAGE_CTL_TYPE, c->ctl) !=
	    NV_CTXSW_MAIN_IMAGE_CTL_TYPE_PER_VEID_HEADER)
		return 0;
	err = inst_read_pair(gpu, c->ap, c->addr + NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR_HI, w);
	if (err)
		return err;
	c->image_va = (u64)DRF_VAL(NV_CTXSW_MAIN_IMAGE_CONTEXT_BUFFER_PTR_HI_V, w[0]) << 32 | w[1];
	return inst_locate_image(gpu, c, cache);
}

static int inst_read_image_pair(struct lens_gpu *gpu, const struct lens_context *c, u32 off,
				u32 w[2])
{
	return inst_read_pair(gpu, c->ap, c->addr + off, w);
}

static int inst_read_image(struct lens_gpu *gpu, struct lens_context *c)
{
	u32 w[2], wfi[2], gfxp[2], id[2];
	int err;

	err = inst_read_image_pair(gpu, c, NV_CTXSW_MAIN_IMAGE_NUM_RESTORE_OPERATIONS, w);
	if (err)
		return err;
	c->restores = w[0];
	if (w[1] != NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1_V_VALUE)
		return -EOPNOTSUPP;
	err = inst_read_image_pair(gpu, c, NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS, w);
	if (!err)
		err = inst_read_image_pair(gpu, c, NV_CTXSW_MAIN_IMAGE_NUM_WFI_SAVE_OPERATIONS,
					   wfi);
	if (!err)
		err = inst_read_image_pair(gpu, c, NV_CTXSW_MAIN_IMAGE_NUM_GFXP_SAVE_OPERATIONS,
					   gfxp);
	if (!err)
		err = inst_read_image_pair(gpu, c, NV_CTXSW_MAIN_IMAGE_CONTEXT_ID, id);
	if (err)
		return err;
	c->graphics = DRF_VAL(NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS_CONTROL, w[0]);
	c->compute = DRF_VAL(NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS_CONTROL, w[1]);
	c->saves_wfi = wfi[0];
	c->saves_cta = wfi[1];
	c->saves_gfxp = gfxp[0];
	c->saves_cilp = gfxp[1];
	c->context_id = id[0];
	c->saves = id[1];
	return 0;
}

/* -- the contexts of a runlist -- */

/* Channels per use of the window, so that it reads less than a piece. */
#define CHANNELS_PER_BORROW 32
/*
 * Accesses of one context in a pass, usually. It may need more: page table words stay in
 * the cache when the stop of the machine ends early.
 */
#define ACCESSES_PER_CONTEXT 12

enum inst_pass { PASS_INST, PASS_LOCATE, PASS_IMAGE };

struct inst_range {
	struct lens_gpu *gpu;
	struct lens_runlist_snap *snap;
	enum inst_pass pass;
	u32 first, n;		/* entries */
	bool outside;		/* channels in system memory, without the window */
	bool left;		/* a channel has an image for the next pass */
};

static void inst_find_block(struct lens_gpu *gpu, const struct lens_runlist_snap *snap, u32 i,
			    const struct lens_entry *e, u32 *target, u64 *inst)
{
	struct lens_channel_state s;

	*target = e->inst_target;
	*inst = e->inst;
	gpu->chip->host->decode_channel(&snap->state[2 * i], &s);
	if (s.pccsr) {
		*target = s.inst_target;
		*inst = s.bound ? s.inst : 0;
	}
}

static void inst_collect_block(struct lens_gpu *gpu, struct lens_runlist_snap *snap, u32 i,
			       const struct lens_entry *e)
{
	struct lens_context *c = &snap->context[i];
	enum lens_aperture ap;
	struct inst_ramin r;
	u32 target;
	u64 inst;

	inst_find_block(gpu, snap, i, e, &target, &inst);
	c->err = inst ? lens_decode_inst_target(gpu, target, &ap) : -ENOENT;
	if (!c->err)
		c->err = inst_read_ramin(gpu, ap, inst, &r);
	if (!c->err)
		c->err = inst_decode_ramin(gpu, &r, c);
	if (!c->err && !c->image_err && gpu->chip->ctxsw == LENS_CTXSW_UNPUBLISHED)
		c->image_err = -EOPNOTSUPP;
}

/* The previous channel's context, if it is the same, as is usual within a TSG; or NULL. */
static const struct lens_context *inst_find_same(const struct lens_runlist_snap *snap, u32 i)
{
	const struct lens_context *c = &snap->context[i], *prev = c - 1;

	if (!i || snap->err[i - 1] || prev->err || !prev->mmu || prev->mmu != c->mmu ||
	    prev->pdb != c->pdb || prev->target != c->target || prev->wfi_va != c->wfi_va ||
	    prev->is_virtual != c->is_virtual)
		return NULL;
	/* A physical address also needs the same aperture. */
	if (!c->is_virtual && prev->ap != c->ap)
		return NULL;
	return prev;
}

/* Take over all but the channel's own subcontext and the place of its pass. */
static void inst_share_context(struct lens_context *c, const struct lens_context *same)
{
	struct lens_context own = *c;

	*c = *same;
	c->veid = own.veid;
	c->subcontexts = own.subcontexts;
	c->outside = own.outside;
}

static bool inst_waits_for_same(const struct lens_runlist_snap *snap, u32 i)
{
	const struct lens_context *same = inst_find_same(snap, i);

	return same && same->outside;
}

static void inst_collect_image(struct lens_gpu *gpu, struct lens_runlist_snap *snap, u32 i,
			       enum inst_pass pass)
{
	struct lens_context *c = &snap->context[i];
	const struct lens_context *same;

	if (c->err || c->image_err)
		return;
	same = inst_find_same(snap, i);
	if (same)
		inst_share_context(c, same);
	else if (pass == PASS_LOCATE)
		c->image_err = inst_find_image(gpu, c, snap->cache);
	else
		c->image_err = inst_read_image(gpu, c);
}

/* The context of entry i; NULL: this pass does not read it. */
static struct lens_context *inst_get_context(const struct inst_range *p, u32 i,
					     struct lens_entry *e)
{
	const struct lens_chip *chip = p->gpu->chip;
	struct lens_context *c = &p->snap->context[i];

	chip->host->decode_entry(&p->snap->entries[i * chip->entry_words], e);
	if (e->is_tsg || p->snap->err[i])
		return NULL;
	return p->pass != PASS_INST && (c->err || c->image_err) ? NULL : c;
}

/* Does this pass begin to read the context in system memory? No access. */
static bool inst_begins_in_system(const struct inst_range *p, u32 i, const struct lens_entry *e)
{
	const struct lens_context *c = &p->snap->context[i];
	enum lens_aperture ap = c->ap;
	u32 target = c->target;
	u64 inst;
	int err = 0;

	if (p->gpu->id->soc)
		return true;
	if (p->pass == PASS_INST) {
		inst_find_block(p->gpu, p->snap, i, e, &target, &inst);
		err = lens_decode_inst_target(p->gpu, target, &ap);
	} else if (p->pass == PASS_LOCATE && c->is_virtual) {
		err = lens_decode_target(target, &ap);
	}
	return !err && ap == LENS_SYS;
}

static int inst_run_pass(void *arg)
{
	struct inst_range *p = arg;
	enum lens_stop state = LENS_STOP_GOES_ON;
	struct lens_context before, *c;
	struct lens_entry e;
	u32 i;

	for (i = p->first; i < p->first + p->n && state == LENS_STOP_GOES_ON; i++) {
		c = inst_get_context(p, i, &e);
		if (!c || c->outside != p->outside)
			continue;
		/* The context that it shares is read later. */
		if (!p->outside && p->pass != PASS_INST && inst_waits_for_same(p->snap, i)) {
			c->outside = true;
			continue;
		}
		before = *c;
		if (p->pass == PASS_INST)
			inst_collect_block(p->gpu, p->snap, i, &e);
		else
			inst_collect_image(p->gpu, p->snap, i, p->pass);
		state = lens_stop_get_state(p->gpu->io, ACCESSES_PER_CONTEXT);
		if (state == LENS_STOP_CUT) {
			*c = before;
			break;
		}
		/* The context leads to system memory. */
		if (!p->outside && (c->err == -EAGAIN || c->image_err == -EAGAIN)) {
			c->err = 0;
			c->image_err = 0;
			c->outside = true;
		} else if (!c->err && !c->image_err) {
			p->left = true;
		}
	}
	/* The rest is read in the next stop of the machine. */
	p->n = i - p->first;
	return 0;
}

/* One pass over a few entries: through the window, then those in system memory. */
static int inst_run_range(struct inst_range *p)
{
	struct lens_context *c;
	struct lens_entry e;
	bool inside = false;
	int err = 0;
	u32 i;

	for (i = p->first; i < p->first + p->n; i++) {
		c = inst_get_context(p, i, &e);
		if (!c)
			continue;
		c->outside = inst_begins_in_system(p, i, &e);
		inside |= !c->outside;
	}
	p->outside = false;
	if (inside)
		err = p->gpu->io->ops->exclusive(p->gpu->io, inst_run_pass, p);
	p->outside = true;
	return err ? err : inst_run_pass(p);
}

int lens_contexts_collect(struct lens_gpu *gpu, struct lens_runlist_snap *snap)
{
	struct inst_range p = { .gpu = gpu, .snap = snap };
	u32 i, empty = 0;	/* stops in a row without time for one entry */
	int err;

	for (i = 0; i < snap->n; i++)
		memset(&snap->context[i], 0, sizeof(snap->context[i]));
	p.left = true;
	for (p.pass = PASS_INST; p.pass <= PASS_IMAGE && p.left; p.pass++) {
		p.left = false;
		for (p.first = 0; p.first < snap->n; p.first += p.n) {
			p.n = snap->n - p.first;
			if (p.n > CHANNELS_PER_BORROW)
				p.n = CHANNELS_PER_BORROW;
			err = inst_run_range(&p);
			empty = p.n ? 0 : empty + 1;
			if (!err && empty == LENS_EMPTY_STOPS)
				err = -ETIMEDOUT;
			if (err)
				return err;
		}
	}
	return 0;
}

/* Preemption words to write into a context image. */
struct inst_preemption {
	struct lens_gpu *gpu;
	const struct lens_context *c;
	enum lens_preemption mode;
};

/* Check and write in one stop: the driver may have reused the memory. */
static int inst_write_preemption(void *arg)
{
	const struct inst_preemption *p = arg;
	const struct lens_context *c = p->c;
	u32 compute, w[2];
	u64 at;
	int err;

	err = inst_read_pair(p->gpu, c->ap, c->addr + NV_CTXSW_MAIN_IMAGE_NUM_RESTORE_OPERATIONS,
			     w);
	if (err)
		return err;
	if (w[1] != NV_CTXSW_MAIN_IMAGE_MAGIC_VALUE_1_V_VALUE)
		return -EOPNOTSUPP;

	switch (p->mode) {
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
	 * CTA leaves graphics as it is. nvgpu refuses instruction-level compute
	 * together with graphics preemption, so graphics is set to WFI first.
	 */
	if (p->mode != LENS_PREEMPT_CTA) {
		at = c->addr + NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS;
		err = lens_store32(p->gpu, c->ap, at,
				   NV_CTXSW_MAIN_IMAGE_GRAPHICS_PREEMPTION_OPTIONS_CONTROL_WFI);
		if (err)
			return err;
	}
	at = c->addr + NV_CTXSW_MAIN_IMAGE_COMPUTE_PREEMPTION_OPTIONS;
	return lens_store32(p->gpu, c->ap, at, compute);
}

int lens_context_set_preemption(struct lens_gpu *gpu, enum lens_aperture inst_ap, u64 inst,
				enum lens_preemption mode)
{
	struct lens_context c = { 0 };
	struct inst_preemption p = { .gpu = gpu, .c = &c, .mode = mode };
	struct inst_ramin r;
	int err;

	err = inst_read_ramin(gpu, inst_ap, inst, &r);
	if (!err)
		err = inst_decode_ramin(gpu, &r, &c);
	if (!err)
		err = c.image_err;
	if (!err)
		err = inst_find_image(gpu, &c, NULL);
	if (!err)
		err = lens_run_exclusive_at(gpu, c.ap, c.addr, inst_write_preemption, &p);
	/* An image does not begin that near the end of its page. */
	return err == -EAGAIN ? -EIO : err;
}
