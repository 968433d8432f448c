/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recording: a table of access functions that passes reads on to another one and
 * reports every word that was read. Images of GPUs are made with it.
 */
#ifndef _GPULENS_RECORD_H_
#define _GPULENS_RECORD_H_

#include "io.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 32-bit words that one exclusive() may read at most: reserve() is called with it before. */
#define LENS_RECORD_EXCLUSIVE_WORDS 16384

/**
 * struct lens_recorder - access functions that note what they read
 * @io:		access functions for the core, filled by lens_record_init()
 * @inner:	access functions that reach the GPU
 * @note:	called with each read: @kind 'r' is a register, words[0] at BAR0 byte offset
 *		addr; 'v' and 's' are n 32-bit words of GPU or system memory at byte address
 *		addr. Called with all processors stopped too: must not sleep or allocate.
 * @reserve:	make room for this number of 32-bit words; NULL: room is not limited. Called where
 *		sleeping is allowed, before the words are read. 0 or -errno, which ends the read.
 *
 * The caller sets @note and @reserve.
 */
struct lens_recorder {
	struct lens_io io;
	struct lens_io *inner;
	void (*note)(struct lens_recorder *r, char kind, u64 addr, const u32 *words, u32 n);
	int (*reserve)(struct lens_recorder *r, u32 words);
};

/**
 * lens_record_init() - make a recorder of a table of access functions
 * @r:		recorder, of which note and reserve are the caller's
 * @inner:	access functions to pass reads on to; must live as long as @r
 *
 * Stores through r->io fail with -EPERM, and register writes are dropped: a recording holds
 * reads only.
 */
void lens_record_init(struct lens_recorder *r, struct lens_io *inner);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_RECORD_H_ */
