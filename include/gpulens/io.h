/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the core reaches a GPU: one small table of functions.
 *
 * Implemented by the module (ioremap), by the emulated GPU linked into one
 * process (unit tests, fuzzing) and by recorded images. Nothing in the core
 * touches hardware in any other way.
 */
#ifndef _GPULENS_IO_H_
#define _GPULENS_IO_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lens_io;

/* Where an address points. Coherent and non-coherent system memory are one. */
enum lens_aperture {
	LENS_VID,	/* GPU memory, address from its first byte */
	LENS_SYS,	/* system memory, bus address */
};

/* Accesses made so far. The implementation counts; nobody resets. */
struct lens_cost {
	u64 rd32;	/* 32-bit reads of registers */
	u64 wr32;	/* 32-bit writes, registers and memory */
	u64 rd64;	/* 64-bit reads of GPU memory */
	u64 windows;	/* times the PRAMIN window was borrowed */
	u64 sys64;	/* words of system memory copied or stored */
	/* How often and how long the machine stood still for a borrow. */
	u64 stops, stopped_ns, longest_stop_ns;
};

struct lens_io_ops {
	/* One 32-bit register at a BAR0 byte offset. No errors: a lost GPU reads as all ones. */
	u32 (*rd32)(struct lens_io *io, u32 off);
	void (*wr32)(struct lens_io *io, u32 off, u32 val);

	/* 64 bits of the PRAMIN aperture at a BAR0 byte offset; only called by window.c. */
	u64 (*rd64)(struct lens_io *io, u32 off);

	/*
	 * Copy 8-byte words of memory from an 8-byte aligned address, or store
	 * one 32-bit word and read it back. -EACCES: forbidden by the user,
	 * -EOPNOTSUPP: this implementation cannot reach the aperture, -EIO:
	 * not memory of this GPU.
	 */
	int (*copy)(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words);
	int (*store32)(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val);

	/*
	 * Run fn with the window borrowed once for all of it: copy() and store32()
	 * inside move it but do not save or restore. fn must not sleep, allocate or call
	 * exclusive(). Keep it short: the whole machine waits.
	 */
	int (*exclusive)(struct lens_io *io, int (*fn)(void *arg), void *arg);

	/*
	 * Let the hardware work for about this long. May sleep, and may let others at
	 * the GPU meanwhile. Not 0: there may be no access any more; -ENODEV: gone.
	 */
	int (*wait_us)(struct lens_io *io, u32 us);
};

struct lens_window;

struct lens_io {
	const struct lens_io_ops *ops;
	const struct lens_window *window;	/* set by lens_gpu_identify() */
	u64 memory_bytes;			/* 0: unknown; set by lens_gpu_read_topology() */
	struct lens_cost cost;
	bool held;				/* the window is borrowed: window.c's */
	u32 saved, position;
};

/*
 * The PRAMIN window: which register moves it and how it counts. A borrow is
 * save, move, copy, restore, read back; the caller makes sure that nobody else
 * uses the window meanwhile. Words must lie within LENS_WINDOW_PIECE.
 */
#define LENS_WINDOW_PIECE 0x10000

int lens_window_copy(struct lens_io *io, u64 addr, u64 *dst, u32 words);
/* For exclusive(): borrow, run, give back. copy() then is lens_window_copy() as ever. */
int lens_window_run(struct lens_io *io, int (*fn)(void *arg), void *arg);
int lens_window_store32(struct lens_io *io, u64 addr, u32 val);
/* 0, or -EIO where an access of bytes at addr would leave GPU memory or the window's reach. */
int lens_window_check(const struct lens_io *io, u64 addr, u64 bytes);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_IO_H_ */
