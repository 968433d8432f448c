// SPDX-License-Identifier: GPL-2.0
/*
 * The PRAMIN window: GPU memory through 1 MiB of BAR0.
 *
 * There is one window per GPU, and the GPU's driver uses it, too; NVIDIA's driver keeps
 * the last position in a variable and skips redundant moves. Each use therefore saves
 * the register, moves the window, copies, restores the register and reads it back,
 * which flushes the write. Nothing else may access the GPU meanwhile:
 * src/linux/stop.c stops the machine.
 *
 * Sources: open-gpu-kernel-modules maxwell/gm107/dev_bus.h NV_PBUS_BAR0_WINDOW,
 * hopper/gh100/dev_nv_xal_ep_zb.h NV_XAL_EP_ZB_BAR0_WINDOW, hopper/gh100/dev_ram.h
 * NV_PRAMIN; kernel_bus_gm107.c (the cached position).
 */
#include "core.h"
#include "../include/hw/bus.h"

#define WINDOW_SHIFT NV_PBUS_BAR0_WINDOW_BASE_SHIFT
#define WINDOW_ALIGN ((u64)1 << WINDOW_SHIFT)

int lens_window_check(const struct lens_io *io, u64 addr, u64 bytes)
{
	u64 reach = ((u64)io->window->base_mask + 1) << WINDOW_SHIFT;

	if (io->memory_bytes && io->memory_bytes < reach)
		reach = io->memory_bytes;
	if (bytes > reach || addr > reach - bytes)
		return -EIO;
	return 0;
}

static u32 window_get_position(const struct lens_io *io, u64 addr)
{
	/* All other bits zero: TARGET video memory where there is such a field. */
	return (u32)(addr >> WINDOW_SHIFT) & io->window->base_mask;
}

static int window_acquire(struct lens_io *io)
{
	io->saved = io->ops->rd32(io, io->window->reg);
	if (io->saved == 0xffffffff || lens_is_bad_read(io->saved))
		return -EIO;
	io->position = io->saved;
	io->held = true;
	io->cost.windows++;
	return 0;
}

static void window_restore(struct lens_io *io)
{
	io->held = false;
	if (io->position == io->saved)
		return;
	io->restoring = true;
	io->ops->wr32(io, io->window->reg, io->saved);
	io->ops->rd32(io, io->window->reg);
	io->restoring = false;
}

enum lens_stop lens_stop_get_state(struct lens_io *io, u32 accesses)
{
	return io->ops->stop_state ? io->ops->stop_state(io, accesses) : LENS_STOP_GOES_ON;
}

/*
 * Move the window to addr unless it covers it and the bytes behind it. Returns the
 * BAR0 offset of addr. A position with bits outside of base_mask, such as a TARGET
 * that the driver set, is never reused.
 */
static u32 window_move(struct lens_io *io, u64 addr, u32 bytes)
{
	u64 start = (u64)(io->position & io->window->base_mask) << WINDOW_SHIFT;

	if (io->position & ~io->window->base_mask || addr < start ||
	    addr + bytes > start + NV_PRAMIN_SIZE) {
		io->position = window_get_position(io, addr);
		io->ops->wr32(io, io->window->reg, io->position);
		start = addr & ~(WINDOW_ALIGN - 1);
	}
	return NV_PRAMIN_START + (u32)(addr - start);
}

int lens_window_copy(struct lens_io *io, u64 addr, u64 *dst, u32 words)
{
	bool mine = !io->held;
	enum lens_stop state;
	u32 off, i;
	int err;

	if (!words || words * 8ULL > LENS_WINDOW_PIECE || addr & 7)
		return -EINVAL;
	if (mine) {
		err = window_acquire(io);
		if (err)
			return err;
	}
	off = window_move(io, addr, words * 8);
	for (i = 0; i < words; i++) {
		dst[i] = io->ops->rd64(io, off + i * 8);
		state = lens_stop_get_state(io, 1);
		if (state == LENS_STOP_CUT)
			break;
		/* Copy the rest in another stop. Inside lens_window_run(), fn decides that. */
		if (mine && state == LENS_STOP_ENDS) {
			i++;
			break;
		}
	}
	if (mine)
		window_restore(io);
	return (int)i;
}

int lens_window_store32(struct lens_io *io, u64 addr, u32 val)
{
	bool mine = !io->held;
	u32 off, back;
	int err;

	if (addr & 3)
		return -EINVAL;
	if (mine) {
		err = window_acquire(io);
		if (err)
			return err;
	}
	off = window_move(io, addr, 4);
	io->ops->wr32(io, off, val);
	back = io->ops->rd32(io, off);
	if (mine)
		window_restore(io);
	return back == val ? 0 : -EIO;
}

int lens_window_run(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	int err = window_acquire(io);

	if (err)
		return err;
	err = fn(arg);
	window_restore(io);
	return err;
}
