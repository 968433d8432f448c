/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recording: a table of access functions that passes everything on to another
 * one and notes every word that was read. What an image of a GPU is made of.
 */
#ifndef _GPULENS_RECORD_H_
#define _GPULENS_RECORD_H_

#include "io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words that one exclusive() may read at most; reserve() is asked for so many before it. */
#define LENS_RECORD_EXCLUSIVE_WORDS 16384

struct lens_recorder {
	struct lens_io io;		/* give this one to the core */
	struct lens_io *inner;		/* the one that reaches the GPU */
	/*
	 * kind 'r': a register, words[0] at BAR0 offset addr; 'v', 's': n 32-bit
	 * words of video or system memory. Must not allocate.
	 */
	void (*note)(struct lens_recorder *r, char kind, u64 addr, const u32 *words, u32 n);
	/* Room for so many words. Called where allocating is allowed. 0 or -errno. */
	int (*reserve)(struct lens_recorder *r, u32 words);
};

/* Fills r->io. Writes through it are refused with -EPERM: an image never holds one. */
void lens_record_init(struct lens_recorder *r, struct lens_io *inner);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_RECORD_H_ */
