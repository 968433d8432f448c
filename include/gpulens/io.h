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

/* What is left of a stop of the machine, for work that can go on in the next one. */
enum lens_stop {
	LENS_STOP_GOES_ON,	/* or the machine is not stopped */
	LENS_STOP_ENDS,		/* begin nothing more in it */
	LENS_STOP_CUT,		/* it is over: what was read since the last look is void */
};

/* Stops in a row without any progress, after which a copy or a collection ends. */
#define LENS_EMPTY_STOPS 10

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
	 * inside move it but do not save or restore; of system memory they may give
	 * -EAGAIN: not here, ask again outside. fn must not sleep, allocate or call
	 * exclusive(). Keep it short: the whole machine waits.
	 */
	int (*exclusive)(struct lens_io *io, int (*fn)(void *arg), void *arg);
	/* For fn of exclusive(), between pieces of its work, before so many more accesses. */
	enum lens_stop (*stop_state)(struct lens_io *io, u32 accesses);	/* NULL: no limit */

	/*
	 * The same for a look at memory and a store there that belong together. In system
	 * memory the page of addr is at hand inside, no other (-EAGAIN), nor the window.
	 * NULL: nobody else is at the memory.
	 */
	int (*exclusive_at)(struct lens_io *io, enum lens_aperture ap, u64 addr,
			    int (*fn)(void *arg), void *arg);

	/*
	 * Run fn while nothing else on this machine can reach the GPU: for registers that its
	 * driver uses too. No window is borrowed, so that it works without GPU memory as well.
	 * fn accesses registers only and must not sleep, allocate, wait_us() or call exclusive()
	 * or atomic(). It reads before it writes: a read that comes too late fails, whereas
	 * a write is made however late, so that a sequence that was begun is finished.
	 */
	int (*atomic)(struct lens_io *io, int (*fn)(void *arg), void *arg);

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
	bool restoring;				/* and is being given back */
	bool in_atomic;				/* inside atomic(): the implementation's */
	u32 saved, position;
};

/*
 * The PRAMIN window: which register moves it and how it counts. A borrow is
 * save, move, copy, restore, read back; the caller makes sure that nobody else
 * uses the window meanwhile. Words must lie within LENS_WINDOW_PIECE.
 */
#define LENS_WINDOW_PIECE 0x10000

/* How many words were copied, fewer when the stop of the machine ends; or -errno. */
int lens_window_copy(struct lens_io *io, u64 addr, u64 *dst, u32 words);
/* May so many accesses more begin in this stop? */
enum lens_stop lens_stop_state(struct lens_io *io, u32 accesses);
/* For exclusive(): borrow, run, give back. copy() then is lens_window_copy() as ever. */
int lens_window_run(struct lens_io *io, int (*fn)(void *arg), void *arg);
int lens_window_store32(struct lens_io *io, u64 addr, u32 val);
/* 0, or -EIO where an access of bytes at addr would leave GPU memory or the window's reach. */
int lens_window_check(const struct lens_io *io, u64 addr, u64 bytes);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_IO_H_ */
