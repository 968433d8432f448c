/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPU page tables: formats as data, one walker for all.
 */
#ifndef _GPULENS_MMU_H_
#define _GPULENS_MMU_H_

#include "io.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lens_gpu;

#define LENS_MMU_MAX_LEVELS 6

struct lens_mmu_level {
	u8 shift;		/* lowest bit of the virtual address that indexes this level */
	u8 bits;		/* how many bits index it */
	u8 entry_bytes;		/* 8, or 16 for a dual entry (big and small table) */
	bool leaf;		/* an entry here may map a page itself */
};

/* A page directory or page table entry, decoded. */
struct lens_mmu_entry {
	bool valid, leaf;
	enum lens_aperture ap;
	u64 addr;		/* next table, or the page */
	bool peer;		/* in another GPU's memory: cannot be followed */
	bool hides_small;	/* an invalid big page under which no small one is looked for */
	u8 size_shift;		/* version 1: only 1 / 2^n of the table is there */
};

struct lens_mmu_format {
	const char *name;
	u8 levels;		/* directories, from the root; the last one's entries are dual */
	struct lens_mmu_level level[LENS_MMU_MAX_LEVELS];
	u8 va_bits;
	u8 big_shift;		/* 16: 64 KiB pages, 17: 128 KiB */
	bool leaf_bit;		/* bit 0 of a directory entry says page (version 2 on) */
	void (*pde)(u64 raw, struct lens_mmu_entry *e);
	/* lo and hi of the last directory's entry; 8-byte entries: hi is 0. */
	void (*dual)(u64 lo, u64 hi, struct lens_mmu_entry *big, struct lens_mmu_entry *small);
	void (*pte)(u64 raw, struct lens_mmu_entry *e);
};

struct lens_mapping {
	enum lens_aperture ap;
	u64 addr;		/* physical address of the byte asked for */
	u64 page_bytes;
};

/* Table words seen, so that each is read once per snapshot. Zeroed memory is an empty one. */
#define LENS_CACHE_WORDS 1024

struct lens_walk_cache {
	u32 used;
	struct {
		u64 addr;
		enum lens_aperture ap;
		u64 raw[2];
	} word[LENS_CACHE_WORDS];
};

/*
 * Where a GPU virtual address lies. root: the page directory of the instance
 * block. cache may be NULL. -EFAULT: not mapped; -EIO: the tables make no sense.
 */
int lens_mmu_translate(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		       enum lens_aperture root_ap, u64 root, u64 va, struct lens_mapping *m,
		       struct lens_walk_cache *cache);

/* Words read at once, and room for the tables on the way. words_left: how many may be read. */
#define LENS_SCAN_WORDS 512

struct lens_mmu_scan {
	u32 words_left;
	u64 buf[LENS_MMU_MAX_LEVELS + 1][LENS_SCAN_WORDS];
};

/*
 * Call fn for every mapping of an address space, by virtual address; where a big
 * page hides small ones, for both. fn != 0 ends the scan and is returned. -E2BIG:
 * words_left came to its end.
 */
typedef int (*lens_mapping_fn)(u64 va, const struct lens_mapping *m, void *arg);
int lens_mmu_each(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		  enum lens_aperture root_ap, u64 root, struct lens_mmu_scan *room,
		  lens_mapping_fn fn, void *arg);

extern const struct lens_mmu_format lens_mmu_v1_64k;	/* Maxwell 2 */
extern const struct lens_mmu_format lens_mmu_v1_128k;	/* Kepler, Maxwell */
extern const struct lens_mmu_format lens_mmu_v2;	/* Pascal .. Ada */
extern const struct lens_mmu_format lens_mmu_v3;	/* Hopper */
extern const struct lens_mmu_format lens_mmu_v3_256g;	/* Blackwell */

/* Which format word 128 of an instance block selects, by generation. */
const struct lens_mmu_format *lens_mmu_select_gk104(u32 ramin_word);
const struct lens_mmu_format *lens_mmu_select_gm200(u32 ramin_word);
const struct lens_mmu_format *lens_mmu_select_gp100(u32 ramin_word);
const struct lens_mmu_format *lens_mmu_select_v2(u32 ramin_word);
const struct lens_mmu_format *lens_mmu_select_v3(u32 ramin_word);
const struct lens_mmu_format *lens_mmu_select_gb100(u32 ramin_word);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_MMU_H_ */
