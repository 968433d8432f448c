/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BAR1 and BAR2: windows of the CPU into GPU memory, which the GPU's driver sets
 * up with page tables of their own or with physical addresses.
 */
#ifndef _GPULENS_BAR_H_
#define _GPULENS_BAR_H_

#include "gpu.h"
#include "mmu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Page table words that are read per BAR: 512 KiB of tables map 256 MiB in 4 KiB pages. */
#define LENS_BARS_WORDS	65536

#define LENS_BARS 2

/**
 * struct lens_bar - how the GPU's driver has set up BAR1 or BAR2
 * @err:	0, or why @inst and what follows from it is not known: -EIO where the
 *		block is invalid or cannot be read, other errors of reading memory
 * @is_virtual:	offsets in the BAR are GPU virtual addresses; else addresses of GPU memory
 * @target:	where the instance block lies: NV_PBUS_BAR1_BLOCK_TARGET, 0 GPU memory,
 *		2 coherent and 3 non-coherent system memory
 * @pdb_target:	where the page directory lies, by the same numbers (RAMIN word 128)
 * @inst:	byte address of the instance block
 * @pdb:	byte address of the page directory; 0 unless @is_virtual
 * @mmu:	format of the page tables; NULL unless @is_virtual
 *
 * Registers: open-gpu-kernel-modules maxwell/gm107/dev_bus.h, turing/tu102/dev_vm.h,
 * hopper/gh100/dev_vm.h.
 */
struct lens_bar {
	int err;
	bool is_virtual;
	u8 target;
	u8 pdb_target;
	u64 inst;
	u64 pdb;
	const struct lens_mmu_format *mmu;
};

/**
 * struct lens_bar_find - an address to look for in a BAR, and the answer
 * @ap:		memory that @addr is in
 * @addr:	byte address to look for
 * @found:	set when the BAR maps it
 * @offset:	lowest byte offset in the BAR that maps @addr; valid with @found
 */
struct lens_bar_find {
	enum lens_aperture ap;
	u64 addr;
	bool found;
	u64 offset;
};

/**
 * lens_bar_read() - read how BAR1 or BAR2 is set up
 * @gpu:	GPU, identified by lens_gpu_identify()
 * @bar:	1 or 2
 * @b:		filled; errors of the block are in @b->err
 *
 * Reads one or two registers, and one word of the instance block if the BAR is virtual.
 *
 * Return: 0; -EOPNOTSUPP, this chip's registers are not published or it has no BAR2; -ENODEV,
 * the GPU is gone.
 */
int lens_bar_read(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);

/**
 * lens_bar_lookup() - find the offsets at which a BAR maps addresses
 * @gpu:	GPU, identified by lens_gpu_identify()
 * @b:		the BAR, as lens_bar_read() filled it
 * @room:	buffers; @room->words_left limits the page table words that are read
 * @find:	@n addresses to look for; found and offset are filled
 * @n:		number of addresses
 *
 * The GPU's driver may change the map at any time: the answer is for display, not for
 * accesses.
 *
 * Return: 0; -E2BIG, the limit was reached first; the first error of reading a page table; in both
 * cases what was found is valid, and what was not found may be mapped; @b->err; -EIO, the page
 * directory's TARGET is invalid.
 */
int lens_bar_lookup(struct lens_gpu *gpu, const struct lens_bar *b, struct lens_mmu_scan *room,
		    struct lens_bar_find *find, u32 n);

/**
 * struct lens_bars - both BARs, and where each maps the runlists
 * @bar:	BAR1 and BAR2, in this order
 * @err:	result of lens_bar_read() and lens_bar_lookup() for each
 * @n:		number of runlists that have an address
 * @runlist:	id of each
 * @target:	its memory, as the runlist's TARGET field
 * @find:	its place in each BAR
 */
struct lens_bars {
	struct lens_bar bar[LENS_BARS];
	int err[LENS_BARS];
	u32 n;
	u16 runlist[LENS_MAX_RUNLISTS];
	u8 target[LENS_MAX_RUNLISTS];
	struct lens_bar_find find[LENS_BARS][LENS_MAX_RUNLISTS];
};

/**
 * lens_bars_collect() - read both BARs and find the runlists in them
 * @gpu:	GPU with its topology, see lens_gpu_read_topology()
 * @bars:	filled
 * @room:	buffers
 * @words:	limit of page table words (8 bytes each) that are read for each BAR
 *
 * Return: 0, other errors are in @bars->err; -ENODEV, the GPU is gone.
 */
int lens_bars_collect(struct lens_gpu *gpu, struct lens_bars *bars, struct lens_mmu_scan *room,
		      u32 words);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_BAR_H_ */
