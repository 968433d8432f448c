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

/**
 * struct lens_mmu_level - one level of page directories
 * @shift:		lowest bit of the virtual address that indexes this level
 * @bits:		number of bits that index it
 * @entry_bytes:	8, or 16 for a dual entry (big and small table)
 * @leaf:		an entry here may map a page itself
 */
struct lens_mmu_level {
	u8 shift;
	u8 bits;
	u8 entry_bytes;
	bool leaf;
};

/**
 * struct lens_mmu_entry - a page directory or page table entry, decoded
 * @valid:		it names a table or maps a page
 * @ap:			memory that @addr is in
 * @addr:		byte address of the next table, or of the page
 * @peer:		the page is in another GPU's memory: cannot be followed
 * @hides_small:	an invalid big page under which small pages are not looked up
 * @size_shift:		version 1: only 1 / 2^n of the table exists
 */
struct lens_mmu_entry {
	bool valid;
	enum lens_aperture ap;
	u64 addr;
	bool peer;
	bool hides_small;
	u8 size_shift;
};

/**
 * struct lens_mmu_format - one format of page tables, as data
 * @name:	as shown to users
 * @levels:	number of directories, from the root; entries of the last are dual
 * @level:	the directories, from the root
 * @va_bits:	bits of a virtual address; those above must be zero
 * @big_shift:	log2 of the big page's bytes: 16 or 17
 * @leaf_bit:	bit 0 of a directory entry marks a page (version 2 and later)
 * @pde:	decode an entry of a directory but the last
 * @dual:	decode an entry of the last directory; hi is 0 where it has 8 bytes
 * @pte:	decode an entry of a table, or a directory's entry that maps a page
 *
 * Decoders get zeroed entries. Sources of levels and fields are at the head of src/mmu.c.
 */
struct lens_mmu_format {
	const char *name;
	u8 levels;
	struct lens_mmu_level level[LENS_MMU_MAX_LEVELS];
	u8 va_bits;
	u8 big_shift;
	bool leaf_bit;
	void (*pde)(u64 raw, struct lens_mmu_entry *e);
	void (*dual)(u64 lo, u64 hi, struct lens_mmu_entry *big, struct lens_mmu_entry *small);
	void (*pte)(u64 raw, struct lens_mmu_entry *e);
};

/**
 * struct lens_mapping - the page that a virtual address maps to
 * @ap:		memory that @addr is in
 * @addr:	byte address: of the byte asked for (lens_mmu_translate()), or of the page
 *		(lens_mmu_for_each())
 * @page_bytes:	size of the page
 */
struct lens_mapping {
	enum lens_aperture ap;
	u64 addr;
	u64 page_bytes;
};

#define LENS_CACHE_WORDS 1024

/**
 * struct lens_walk_cache - page table entries that were read, for one snapshot
 * @used:	number of slots in use
 * @word:	slots, found by address; those of an empty cache are zero
 *
 * Entries that find no slot in a full cache are read each time.
 */
struct lens_walk_cache {
	u32 used;
	struct {
		u64 addr;
		enum lens_aperture ap;
		u64 raw[2];
	} word[LENS_CACHE_WORDS];
};

/**
 * lens_mmu_translate() - translate a GPU virtual address
 * @gpu:	GPU whose memory holds the tables
 * @fmt:	their format
 * @root_ap:	memory that the root directory is in
 * @root:	byte address of the root directory, from the instance block
 * @va:		virtual address
 * @m:		filled
 * @cache:	entries that were read before, or NULL
 *
 * Return: 0; -EFAULT, not mapped; -EIO, the tables are invalid, the page is another GPU's, or
 * memory cannot be read; -ENODEV, the GPU is gone; other errors of reading memory.
 */
int lens_mmu_translate(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
		       enum lens_aperture root_ap, u64 root, u64 va, struct lens_mapping *m,
		       struct lens_walk_cache *cache);

#define LENS_SCAN_WORDS 512
#define LENS_SCAN_DEPTH (LENS_MMU_MAX_LEVELS + 1)

/**
 * struct lens_mmu_scan - limit and buffers of a scan
 * @words_left:	8-byte words of tables that may still be read
 * @buf:	words of the table at each depth
 */
struct lens_mmu_scan {
	u32 words_left;
	u64 buf[LENS_SCAN_DEPTH][LENS_SCAN_WORDS];
};

/**
 * typedef lens_mapping_fn - called for a mapping
 * @va:		virtual address of the page
 * @m:		the page
 * @arg:	the caller's
 *
 * Return: 0 to go on; else lens_mmu_for_each() ends and returns it.
 */
typedef int (*lens_mapping_fn)(u64 va, const struct lens_mapping *m, void *arg);

/**
 * lens_mmu_for_each() - call a function for every mapping of an address space
 * @gpu:	GPU whose memory holds the tables
 * @fmt:	their format
 * @root_ap:	memory that the root directory is in
 * @root:	byte address of the root directory
 * @room:	limit and buffers
 * @fn:		called by rising virtual address; where a big page hides small ones, for both
 * @arg:	passed to @fn
 *
 * Skips pages of other GPUs and tables that cannot be read. After the first such table, the scan
 * returns its error, unless @fn ended the scan.
 *
 * Return: 0, the scan is complete; what @fn returned; -E2BIG, the limit was reached; -ENODEV, the
 * GPU is gone; the first error of reading a table.
 */
int lens_mmu_for_each(struct lens_gpu *gpu, const struct lens_mmu_format *fmt,
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
