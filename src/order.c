// SPDX-License-Identifier: GPL-2.0
/*
 * Arranges the entries of a runlist in another order. A GPU schedules the TSGs of a list in turn,
 * so that a TSG that stands there more often has more turns (linux-nvgpu common/fifo/runlist.c
 * builds such lists by interleaving level).
 */
#include "core.h"

/* The first TSG of this id: index of its header, and its number of entries. */
static int order_find_tsg(const struct lens_gpu *gpu, const struct lens_runlist_snap *snap, u32 id,
			  u32 *first, u32 *count)
{
	struct lens_entry e;
	u32 i;

	for (i = 0; i < snap->n; i++) {
		gpu->chip->host->decode_entry(&snap->entries[i * gpu->chip->entry_words], &e);
		if (!e.is_tsg || e.id != id)
			continue;
		*first = i;
		*count = 1 + e.length;
		return 0;
	}
	return -ENOENT;
}

static bool order_has_tsg(const struct lens_order *order, u32 id)
{
	u32 i;

	for (i = 0; i < order->n; i++)
		if (order->tsgs[i] == id)
			return true;
	return false;
}

/* Is the list made of whole TSGs only, and are all of them in the order? */
static int order_check_list(const struct lens_gpu *gpu, const struct lens_runlist_snap *snap,
			    const struct lens_order *order)
{
	struct lens_entry e;
	u32 i, left = 0;

	for (i = 0; i < snap->n; i++) {
		gpu->chip->host->decode_entry(&snap->entries[i * gpu->chip->entry_words], &e);
		if (!e.is_tsg) {
			if (!left--)
				return -EOPNOTSUPP;
			continue;
		}
		if (left)
			return -EIO;
		if (!order_has_tsg(order, e.id))
			return -EINVAL;
		left = e.length;
	}
	return left ? -EIO : 0;
}

int lens_order_arrange(const struct lens_gpu *gpu, const struct lens_runlist_snap *snap,
		       const struct lens_order *order, u32 *to, u32 cap, u32 *n)
{
	u32 words = gpu->chip->entry_words, first, count, i;
	int err;

	err = order_check_list(gpu, snap, order);
	for (i = 0, *n = 0; !err && i < order->n; i++) {
		err = order_find_tsg(gpu, snap, order->tsgs[i], &first, &count);
		if (err)
			break;
		if (*n + count <= cap)
			memcpy(&to[*n * words], &snap->entries[first * words], count * words * 4);
		*n += count;
	}
	if (err)
		return err;
	return *n > cap ? -ENOSPC : 0;
}
