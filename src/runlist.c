// SPDX-License-Identifier: GPL-2.0
/*
 * Reading runlists: as a whole, into a snapshot of raw words, or a page at a time.
 *
 * The registers are read before and after the copy, which is repeated if they
 * changed: the driver may replace the list meanwhile. entry.c decodes the words.
 * Lengths and ids come from the hardware and are not trusted.
 */
#include "core.h"
#include "../include/hw/ram.h"

#define TRIES 4

/* TARGET fields of registers and of structures in memory have the same codes. */
int lens_decode_target(u32 target, enum lens_aperture *ap)
{
	switch (target) {
	case NV_RAMIN_PAGE_DIR_BASE_TARGET_VID_MEM:
		*ap = LENS_VID;
		return 0;
	case NV_RAMIN_PAGE_DIR_BASE_TARGET_SYS_MEM_COHERENT:
	case NV_RAMIN_PAGE_DIR_BASE_TARGET_SYS_MEM_NONCOHERENT:
		*ap = LENS_SYS;
		return 0;
	}
	return -EIO;
}

int lens_decode_inst_target(const struct lens_gpu *gpu, u32 target, enum lens_aperture *ap)
{
	if (target == NV_RAMIN_PAGE_DIR_BASE_TARGET_INVALID && gpu->chip->inst_1_is_vid)
		target = NV_RAMIN_PAGE_DIR_BASE_TARGET_VID_MEM;
	return lens_decode_target(target, ap);
}

int lens_runlist_read_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
			   struct lens_runlist_regs *regs)
{
	memset(regs, 0, sizeof(*regs));
	return rl->err ? rl->err : gpu->chip->host->read_runlist_regs(gpu, rl, regs);
}

bool lens_regs_are_equal(const struct lens_runlist_regs *a, const struct lens_runlist_regs *b)
{
	return a->base == b->base && a->target == b->target && a->length == b->length &&
	       a->pending == b->pending;
}

int lens_request_read_regs(const struct lens_request *r, struct lens_runlist_regs *regs)
{
	int err = lens_runlist_read_regs(r->gpu, r->rl, regs);

	if (err)
		return err;
	if (!regs->base)
		return -ENOENT;
	if (regs->pending || (r->expected && !lens_regs_are_equal(r->expected, regs)))
		return -EBUSY;
	return 0;
}

/*
 * Reads of memory that firmware protects from the CPU give bad-read codes. No valid
 * entry equals them: they have bits set that are reserved in an entry.
 */
static bool runlist_is_refused(const struct lens_gpu *gpu, const u32 *entry)
{
	u32 i;

	for (i = 0; i < gpu->chip->entry_words; i++)
		if (!lens_is_bad_read(entry[i]))
			return false;
	return true;
}

/* Copy n entries of the list, beginning with first. */
static int runlist_copy_entries(struct lens_gpu *gpu, const struct lens_runlist_regs *regs,
				u32 first, u32 n, u64 *dst)
{
	u32 bytes = gpu->chip->entry_words * 4;
	enum lens_aperture ap;
	int err;

	err = lens_decode_target(regs->target, &ap);
	if (err || !n)
		return err;
	err = lens_copy_memory(gpu, ap, regs->base + (u64)first * bytes, dst, n * bytes / 8);
	return !err && runlist_is_refused(gpu, (const u32 *)dst) ? -EIO : err;
}

static void runlist_collect_states(struct lens_gpu *gpu, struct lens_runlist_snap *snap)
{
	struct lens_entry e;
	u32 i;

	for (i = 0; i < snap->n; i++) {
		u32 *state = &snap->state[2 * i];

		state[0] = 0;
		state[1] = 0;
		snap->err[i] = 0;
		gpu->chip->host->decode_entry(&snap->entries[i * gpu->chip->entry_words], &e);
		if (e.is_tsg)
			continue;
		if (e.id >= snap->rl->channels)
			snap->err[i] = -ERANGE;
		else
			snap->err[i] = gpu->chip->host->read_channel(gpu, snap->rl, e.id, state);
	}
}

int lens_runlist_begin(struct lens_gpu *gpu, struct lens_runlist_snap *snap)
{
	int err = lens_runlist_read_regs(gpu, snap->rl, &snap->regs);

	snap->n = 0;
	snap->torn = false;
	snap->has_regs = !err;
	snap->entries_err = 0;
	return err;
}

int lens_runlist_collect(struct lens_gpu *gpu, struct lens_runlist_snap *snap)
{
	struct lens_runlist_regs after;
	int err, tries;

	for (tries = 1;; tries++) {
		if (snap->regs.length > snap->cap)
			return -EAGAIN;
		err = runlist_copy_entries(gpu, &snap->regs, 0, snap->regs.length,
					   (u64 *)snap->entries);
		if (err) {
			snap->entries_err = err;
			return err;
		}
		err = lens_runlist_read_regs(gpu, snap->rl, &after);
		if (err)
			return err;
		if (lens_regs_are_equal(&snap->regs, &after))
			break;
		if (tries == TRIES) {
			snap->torn = true;
			break;
		}
		snap->regs = after;
	}
	snap->n = snap->regs.length;
	runlist_collect_states(gpu, snap);
	return 0;
}

int lens_check_readable(struct lens_gpu *gpu, struct lens_readable *r)
{
	struct lens_runlist_regs regs;
	struct lens_ce_map map;
	u32 i;
	int err;

	memset(r, 0, sizeof(*r));
	r->no_regs = gpu->topo.unnamed_runlists;
	for (i = 0; i < gpu->topo.n_runlists; i++) {
		err = lens_runlist_read_regs(gpu, &gpu->topo.runlists[i], &regs);
		if (err == -ENODEV)
			return err;
		if (err) {
			r->no_regs++;
			continue;
		}
		err = runlist_copy_entries(gpu, &regs, 0, regs.length ? 1 : 0, gpu->scratch);
		if (err) {
			r->no_entries++;
			r->entries_err = err;
		}
	}
	r->ce_err = lens_ce_map_read(gpu, &map);
	return r->ce_err == -ENODEV ? -ENODEV : 0;
}

int lens_runlist_walk(struct lens_gpu *gpu, const struct lens_runlist *rl, lens_walk_fn fn,
		      void *arg)
{
	u32 per_page = LENS_SCRATCH_WORDS * 2 / gpu->chip->entry_words;
	struct lens_group group = { .tsgid = LENS_NONE };
	u32 first, n, i;
	struct lens_runlist_regs regs;
	struct lens_entry e;
	int err;

	err = lens_runlist_read_regs(gpu, rl, &regs);
	for (first = 0; !err && first < regs.length; first += n) {
		n = regs.length - first < per_page ? regs.length - first : per_page;
		err = runlist_copy_entries(gpu, &regs, first, n, gpu->scratch);
		for (i = 0; !err && i < n; i++) {
			gpu->chip->host->decode_entry((const u32 *)gpu->scratch +
						      i * gpu->chip->entry_words, &e);
			lens_group_add(&group, &e);
			err = fn(gpu, rl, &e, group.tsgid, arg);
		}
	}
	return err;
}
