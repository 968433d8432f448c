// SPDX-License-Identifier: GPL-2.0
/*
 * Reads runlists and BARs into memory that is allocated for them.
 */
#include <linux/err.h>
#include <linux/mm.h>

#include "files.h"

static int collect_make_room(const struct lens_gpu *gpu, struct lens_runlist_snap *snap,
			     bool contexts)
{
	u32 cap = snap->regs.length, words = gpu->chip->entry_words;

	lens_snap_free(snap);
	if (!cap)
		return 0;
	/* kvmalloc() aligns to 8 bytes, as copy() requires. */
	snap->entries = kvmalloc_array(cap, words * sizeof(u32), GFP_KERNEL_ACCOUNT);
	snap->state = kvmalloc_array(cap, 2 * sizeof(u32), GFP_KERNEL_ACCOUNT);
	snap->err = kvmalloc_array(cap, sizeof(*snap->err), GFP_KERNEL_ACCOUNT);
	if (contexts) {
		snap->context = kvmalloc_array(cap, sizeof(*snap->context), GFP_KERNEL_ACCOUNT);
		snap->cache = kvzalloc(sizeof(*snap->cache), GFP_KERNEL_ACCOUNT);
	}
	if (!snap->entries || !snap->state || !snap->err ||
	    (contexts && (!snap->context || !snap->cache)))
		return -ENOMEM;
	snap->cap = cap;
	return 0;
}

int lens_snap_fill(struct lens_gpu *gpu, struct lens_runlist_snap *snap, bool contexts)
{
	int err, tries = 4;

	err = lens_runlist_begin(gpu, snap);
	if (err)
		return err;
	do {
		err = collect_make_room(gpu, snap, contexts);
		if (!err)
			err = lens_runlist_collect(gpu, snap);
	} while (err == -EAGAIN && --tries);
	if (!err && contexts && snap->n)
		err = lens_contexts_collect(gpu, snap);
	return err;
}

int lens_snap_collect(struct lens_dev *dev, struct lens_runlist_snap *snap, bool contexts)
{
	int err = lens_dev_begin_use(dev);

	if (err)
		return err;
	return lens_dev_end_use(dev, lens_snap_fill(&dev->gpu, snap, contexts));
}

void lens_snap_free(struct lens_runlist_snap *snap)
{
	kvfree(snap->entries);
	kvfree(snap->state);
	kvfree(snap->err);
	kvfree(snap->context);
	kvfree(snap->cache);
	snap->entries = NULL;
	snap->state = NULL;
	snap->err = NULL;
	snap->context = NULL;
	snap->cache = NULL;
	snap->cap = 0;
}

struct lens_bars *lens_bars_read(struct lens_dev *dev, struct lens_gpu *gpu)
{
	struct lens_mmu_scan *scan = kvmalloc(sizeof(*scan), GFP_KERNEL_ACCOUNT);
	struct lens_bars *bars = kvmalloc(sizeof(*bars), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (scan && bars)
		err = lens_dev_begin_use(dev);
	if (!err)
		err = lens_dev_end_use(dev, lens_bars_collect(gpu, bars, scan, LENS_BARS_WORDS));
	kvfree(scan);
	if (!err)
		return bars;
	kvfree(bars);
	return ERR_PTR(err);
}
