/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core's access to a GPU: a table of functions.
 *
 * The module implements it with ioremap, unit tests and fuzzing with an emulated
 * GPU in one process, the tool with a recorded image. The core has no other access
 * to hardware.
 */
#ifndef _GPULENS_IO_H_
#define _GPULENS_IO_H_

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lens_io;

/**
 * enum lens_aperture - memory that an address is in
 * @LENS_VID:	GPU memory, address from its first byte
 * @LENS_SYS:	system memory, bus address; coherent and non-coherent memory are one
 */
enum lens_aperture {
	LENS_VID,
	LENS_SYS,
};

/**
 * struct lens_cost - accesses made so far
 * @rd32:		32-bit reads of registers, and of GPU memory where it is read by halves
 * @wr32:		32-bit writes of registers and GPU memory
 * @rd64:		64-bit reads of GPU memory
 * @windows:		times the PRAMIN window was acquired
 * @sys64:		words of system memory copied or stored
 * @stops:		times the machine was stopped for an access
 * @stopped_ns:		time that it was stopped, all stops together, ns
 * @longest_stop_ns:	longest of the stops, ns
 * @resubmits:		runlists submitted again since a channel that was enabled went unnoticed
 *
 * The implementation of struct lens_io_ops counts, window.c counts @windows, and control.c
 * @resubmits. The counters are never reset.
 */
struct lens_cost {
	u64 rd32;
	u64 wr32;
	u64 rd64;
	u64 windows;
	u64 sys64;
	u64 stops, stopped_ns, longest_stop_ns;
	u64 resubmits;
};

/**
 * enum lens_stop - time left in a stop of the machine, for work that can continue in the next one
 * @LENS_STOP_GOES_ON:	there is time for more, or the machine is not stopped
 * @LENS_STOP_ENDS:	begin nothing more in this stop
 * @LENS_STOP_CUT:	the stop is over: values read since the last call are invalid
 */
enum lens_stop {
	LENS_STOP_GOES_ON,
	LENS_STOP_ENDS,
	LENS_STOP_CUT,
};

/* BAR0 is this long at least, and all registers that are accessed lie within it. */
#define LENS_BAR0_BYTES 0x1000000U

/* Stops in a row without any progress, after which a copy or a collection ends. */
#define LENS_EMPTY_STOPS 10

/**
 * struct lens_io_ops - access to one GPU
 * @rd32:	read a 32-bit register at BAR0 byte offset off. No errors: a lost GPU reads as all
 *		ones. So does, in the module, an offset outside of BAR0, and every register after
 *		the time limit of the use or of the stop.
 * @wr32:	write one. In the module the write is dropped where a read would give all ones;
 *		in @atomic it is made even after the time limit.
 * @rd64:	read 64 bits of the PRAMIN aperture at BAR0 byte offset off; called by window.c only
 * @copy:	copy words 8-byte words of memory from the 8-byte aligned address addr.
 *		Errors: see below.
 * @store32:	store the 32-bit word val at addr and read it back. Errors: see below; -EIO also
 *		where another value is read back.
 * @exclusive:	run fn(arg) with the window acquired once for all of it: @copy and @store32 inside
 *		move the window but do not save or restore it. For system memory they may give
 *		-EAGAIN there: repeat it outside. fn must not sleep, allocate or call @exclusive,
 *		and must be short: the whole machine is stopped. Gives what fn returned; or the
 *		errors below, -EIO where the window's register cannot be read.
 * @stop_state:	for fn of @exclusive, between pieces of its work: may so many accesses more begin
 *		in this stop? NULL: no limit.
 * @exclusive_at: run fn(arg), which reads memory at addr and stores there, as one. In system
 *		memory, fn can access the page of addr but no other page and not the window
 *		(-EAGAIN). For the rest as @exclusive. NULL: nothing else accesses the memory.
 * @atomic:	run fn(arg) while nothing else on this machine can access the GPU: for registers
 *		that its driver uses too. The window is not acquired, so it works without GPU
 *		memory as well. fn accesses registers only and must not sleep, allocate or call
 *		@wait_us, @exclusive or @atomic. It reads before it writes: a read after the time
 *		limit fails, whereas a write is always made, so that a sequence that was begun is
 *		finished. Gives what fn returned, or the errors below.
 * @wait_us:	wait for about us microseconds. May sleep, and other callers may access the
 *		GPU meanwhile: the module's releases the GPU's lock, not control_lock.
 *		Returns 0; not 0: no access may follow, -ENODEV where the GPU is gone.
 *
 * Errors of @copy, @store32, @exclusive and @exclusive_at: -EACCES, forbidden by the user (or a
 * store to an image that is replayed); -EOPNOTSUPP, this implementation cannot reach the
 * aperture; -EIO, not memory of this GPU, or it cannot be accessed; -EIO or -EINVAL, addr is not
 * aligned; -EPERM, @store32 or @atomic of a recorder. The module's give further, and @atomic's
 * too: -ETIMEDOUT, the time limit of the use or of the stop is over; -EBUSY, the device's
 * lock is held; -EACCES, Xen lent the GPU to another domain. For
 * system memory: -ENXIO, the bus address cannot be translated; -ENOMEM.
 *
 * Context: the module stops the machine for fn of @exclusive (not on Tegra, where nothing is
 * behind the window), @exclusive_at and @atomic, and for each piece of @copy and @store32 of GPU
 * memory outside of them. In fn nothing sleeps; elsewhere all but @rd64 and @stop_state may.
 * The caller serialises calls for one GPU.
 */
struct lens_io_ops {
	u32 (*rd32)(struct lens_io *io, u32 off);
	void (*wr32)(struct lens_io *io, u32 off, u32 val);
	u64 (*rd64)(struct lens_io *io, u32 off);
	int (*copy)(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words);
	int (*store32)(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val);
	int (*exclusive)(struct lens_io *io, int (*fn)(void *arg), void *arg);
	enum lens_stop (*stop_state)(struct lens_io *io, u32 accesses);
	int (*exclusive_at)(struct lens_io *io, enum lens_aperture ap, u64 addr,
			    int (*fn)(void *arg), void *arg);
	int (*atomic)(struct lens_io *io, int (*fn)(void *arg), void *arg);
	int (*wait_us)(struct lens_io *io, u32 us);
};

struct lens_window;

/**
 * struct lens_io - one GPU, as the core accesses it
 * @ops:		access functions
 * @window:		the chip's PRAMIN window, set by lens_gpu_identify()
 * @memory_bytes:	bytes of GPU memory, 0: unknown; set by lens_gpu_read_topology() and
 *			lens_gpu_read_memory_size()
 * @cost:		accesses made so far
 * @held:		the window is acquired: window.c's; a recorder's: inside exclusive()
 * @restoring:		the window is being restored: window.c's; accesses are allowed in any case
 * @in_atomic:		inside atomic(): the implementation's
 * @saved:		the window's register before it was acquired: window.c's
 * @position:		the window's register now, while acquired: window.c's
 */
struct lens_io {
	const struct lens_io_ops *ops;
	const struct lens_window *window;
	u64 memory_bytes;
	struct lens_cost cost;
	bool held;
	bool restoring;
	bool in_atomic;
	u32 saved, position;
};

/*
 * The PRAMIN window of struct lens_window. A use of it is: save the register, move, copy,
 * restore, read back. The functions below that access it are called inside a stop of the
 * machine, so that nothing else uses the window meanwhile, and do not sleep. Greatest number
 * of bytes that one call copies:
 */
#define LENS_WINDOW_PIECE 0x10000

/**
 * lens_window_copy() - copy words of GPU memory through the PRAMIN window
 * @io:		GPU; the window is acquired for this call unless it is already
 * @addr:	byte address, a multiple of 8; lens_window_check() has accepted the range
 * @dst:	filled
 * @words:	8-byte words to copy, 1 to LENS_WINDOW_PIECE / 8
 *
 * Return: number of words copied, fewer than @words when the stop of the machine ends; -EINVAL,
 * @addr or @words is not as above; -EIO, the window's register cannot be read.
 */
int lens_window_copy(struct lens_io *io, u64 addr, u64 *dst, u32 words);

/**
 * lens_stop_get_state() - may so many accesses more begin in this stop of the machine?
 * @io:		GPU
 * @accesses:	number of accesses
 *
 * Context: any, no access.
 *
 * Return: the implementation's answer; LENS_STOP_GOES_ON where it has no limit.
 */
enum lens_stop lens_stop_get_state(struct lens_io *io, u32 accesses);

/**
 * lens_window_run() - acquire the window, run a function, restore the window
 * @io:		GPU, whose window is not acquired
 * @fn:		must not sleep; copy() inside is lens_window_copy() with the window acquired
 * @arg:	passed to @fn
 *
 * For implementations of exclusive().
 *
 * Return: what @fn returned; -EIO, the window's register cannot be read and @fn was not called.
 */
int lens_window_run(struct lens_io *io, int (*fn)(void *arg), void *arg);

/**
 * lens_window_store32() - store a word of GPU memory through the PRAMIN window
 * @io:		GPU; the window is acquired for this call unless it is already
 * @addr:	byte address, a multiple of 4; lens_window_check() has accepted it
 * @val:	word to store
 *
 * Return: 0; -EINVAL, @addr is not aligned; -EIO, the window's register cannot be read or
 * another value is read back.
 */
int lens_window_store32(struct lens_io *io, u64 addr, u32 val);

/**
 * lens_window_check() - check that a range is GPU memory that the window can reach
 * @io:		GPU; where io->memory_bytes is 0 only the window's reach counts
 * @addr:	byte address
 * @bytes:	length
 *
 * Context: any, no access.
 *
 * Return: 0; -EIO, the range would leave GPU memory or the window's reach.
 */
int lens_window_check(const struct lens_io *io, u64 addr, u64 bytes);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_IO_H_ */
