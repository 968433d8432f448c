/* SPDX-License-Identifier: GPL-2.0 */
/*
 * BAR1 and BAR2: windows of the CPU into GPU memory that the GPU's driver sets
 * up, through page tables of their own or straight.
 */
#ifndef _GPULENS_BAR_H_
#define _GPULENS_BAR_H_

#include "gpu.h"
#include "mmu.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LENS_BARS 2

struct lens_bar {
	int err;		/* 0; -EIO: its block makes no sense or cannot be read */
	bool is_virtual;	/* else offsets are addresses of GPU memory */
	u8 target;		/* of the instance block, as a TARGET field */
	u8 pdb_target;
	u64 inst;
	u64 pdb;		/* page directory */
	const struct lens_mmu_format *mmu;
};

/* An address to look for, and the lowest offset at which a BAR shows it. */
struct lens_bar_find {
	enum lens_aperture ap;
	u64 addr;
	bool found;
	u64 offset;
};

/*
 * How BAR1 (bar 1) or BAR2 (bar 2) is set up. -EOPNOTSUPP: this chip's registers
 * are not published; -ENODEV: gone. What is wrong with the block is in b->err.
 */
int lens_bar_read(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);

/*
 * Where the BAR shows each of the n addresses. -E2BIG: room->words_left came to
 * its end first; what was found until then stands. The driver may change the map at
 * any time, so that this is for showing, not for accessing.
 */
int lens_bar_lookup(struct lens_gpu *gpu, const struct lens_bar *b, struct lens_mmu_scan *room,
		    struct lens_bar_find *find, u32 n);

/* Both BARs, and where each shows the runlists. */
struct lens_bars {
	struct lens_bar bar[LENS_BARS];		/* bar[0] is BAR1 */
	int err[LENS_BARS];			/* of looking there */
	u32 n;					/* runlists that lie somewhere */
	u16 runlist[LENS_MAX_RUNLISTS];
	u8 target[LENS_MAX_RUNLISTS];
	struct lens_bar_find find[LENS_BARS][LENS_MAX_RUNLISTS];
};

/* words: how many table words may be read of each BAR. */
int lens_bars_collect(struct lens_gpu *gpu, struct lens_bars *bars, struct lens_mmu_scan *room,
		      u32 words);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_BAR_H_ */
