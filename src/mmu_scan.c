// SPDX-License-Identifier: GPL-2.0
/*
 * All mappings of an address space, to find the virtual addresses of a physical
 * page. Formats and single translations are in mmu.c.
 *
 * Tables are read 4 KiB at a time. The format limits the depth and the caller the
 * number of words, so a loop in the tables or a full address space cannot keep
 * the scan busy. An unreadable table is skipped, and the scan returns its error.
 */
#include "core.h"

struct mmu_scan {
	struct lens_gpu *gpu;
	const struct lens_mmu_format *fmt;
	struct lens_mmu_scan *room;
	lens_mapping_fn fn;
	void *arg;
	int unread;	/* the first error of reading a table, or 0 */
};

/*
 * Read words of a table, beginning with first, into the buffer of that depth. Returns their
 * number; 0, the table cannot be read; -E2BIG, the limit of words is reached; -ENODEV.
 */
static int mmu_scan_read_words(struct mmu_scan *s, u32 depth, const struct lens_mmu_entry *table,
			       u64 first, u64 words)
{
	u32 n = words < LENS_SCAN_WORDS ? (u32)words : LENS_SCAN_WORDS;
	int err;

	if (n > s->room->words_left)
		return -E2BIG;
	s->room->words_left -= n;
	err = lens_copy_memory(s->gpu, table->ap, table->addr + first * 8, s->room->buf[depth], n);
	if (err == -ENODEV)
		return err;
	if (err && !s->unread)
		s->unread = err;
	return err ? 0 : (int)n;
}

static int mmu_scan_report(struct mmu_scan *s, const struct lens_mmu_entry *pte, u32 shift, u64 va)
{
	struct lens_mapping m = { .ap = pte->ap, .addr = pte->addr, .page_bytes = 1ULL << shift };

	return pte->valid && !pte->peer ? s->fn(va, &m, s->arg) : 0;
}

/* One of the two tables under a dual entry at va. */
static int mmu_scan_table(struct mmu_scan *s, const struct lens_mmu_entry *table, u32 shift, u64 va)
{
	u32 depth = s->fmt->levels, top = s->fmt->level[depth - 1].shift;
	u64 words = 1ULL << (top - shift) >> table->size_shift, first;
	struct lens_mmu_entry pte;
	int err, n, i;

	for (first = 0; table->valid && first < words; first += n) {
		n = mmu_scan_read_words(s, depth, table, first, words - first);
		if (n <= 0)
			return n;
		for (i = 0; i < n; i++) {
			memset(&pte, 0, sizeof(pte));
			s->fmt->pte(s->room->buf[depth][i], &pte);
			err = mmu_scan_report(s, &pte, shift, va + ((first + i) << shift));
			if (err)
				return err;
		}
	}
	return 0;
}

static int mmu_scan_directory(struct mmu_scan *s, u32 depth, const struct lens_mmu_entry *table,
			      u64 va);

static int mmu_scan_entry(struct mmu_scan *s, u32 depth, const u64 *raw, u64 va)
{
	const struct lens_mmu_level *l = &s->fmt->level[depth];
	struct lens_mmu_entry e = { 0 }, small = { 0 };
	int err;

	if (s->fmt->leaf_bit && raw[0] & 1) {
		if (!l->leaf)
			return 0;
		s->fmt->pte(raw[0], &e);
		return mmu_scan_report(s, &e, l->shift, va);
	}
	if (depth + 1 < s->fmt->levels) {
		s->fmt->pde(raw[0], &e);
		return e.valid ? mmu_scan_directory(s, depth + 1, &e, va) : 0;
	}
	s->fmt->dual(raw[0], l->entry_bytes == 16 ? raw[1] : 0, &e, &small);
	err = mmu_scan_table(s, &e, s->fmt->big_shift, va);
	return err ? err : mmu_scan_table(s, &small, 12, va);
}

/* Depth is bounded by LENS_MMU_MAX_LEVELS. */
static int mmu_scan_directory(struct mmu_scan *s, u32 depth, const struct lens_mmu_entry *table,
			      u64 va)
{
	const struct lens_mmu_level *l = &s->fmt->level[depth];
	u32 per = l->entry_bytes / 8;
	u64 words = (u64)per << l->bits, first;
	int err, n, i;

	for (first = 0; first < words; first += n) {
		n = mmu_scan_read_words(s, depth, table, first, words - first);
		if (n <= 0)
			return n;
		for (i = 0; i < n; i += per) {
			err = mmu_scan_entry(s, depth, &s->room->buf[depth][i],
					     va + ((first + i) / per << l->shift));
			if (err)
				return err;
		}
	}
	return 0;
}

int lens_mmu_for_each(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		      enum lens_aperture root_ap, u64 root, struct lens_mmu_scan *room,
		  lens_mapping_fn fn, void *arg)
{
	struct lens_mmu_entry e = { .valid = true, .ap = root_ap, .addr = root };
	struct mmu_scan s = { .gpu = gpu, .fmt = fmt, .room = room, .fn = fn, .arg = arg };
	int err = mmu_scan_directory(&s, 0, &e, 0);

	return err ? err : s.unread;
}
