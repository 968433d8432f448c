// SPDX-License-Identifier: GPL-2.0
/*
 * The PRAMIN window: GPU memory through 1 MiB of BAR0.
 *
 * There is one window per GPU and its driver believes that it owns it (NVIDIA's
 * keeps the last position in a variable and skips redundant moves). A borrow
 * therefore saves the register, moves it, copies, restores it and reads it back,
 * and must run while nobody else can touch the GPU; src/linux/mmio.c sees to
 * that. Reading the register back before returning flushes the restoring write.
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

/* Position the window over addr. Returns the BAR0 offset of addr, 0 on a lost GPU. */
static u32 borrow(struct lens_io *io, u64 addr, u32 *saved)
{
	u32 want = (u32)(addr >> WINDOW_SHIFT) & io->window->base_mask;

	*saved = io->ops->rd32(io, io->window->reg);
	if (*saved == 0xffffffff || lens_is_bad_read(*saved))
		return 0;
	io->cost.windows++;
	/* All other bits zero: TARGET video memory where there is such a field. */
	if (*saved != want)
		io->ops->wr32(io, io->window->reg, want);
	return NV_PRAMIN_START + (u32)(addr & (WINDOW_ALIGN - 1));
}

static void give_back(struct lens_io *io, u64 addr, u32 saved)
{
	u32 want = (u32)(addr >> WINDOW_SHIFT) & io->window->base_mask;

	if (saved == want)
		return;
	io->ops->wr32(io, io->window->reg, saved);
	io->ops->rd32(io, io->window->reg);
}

int lens_window_copy(struct lens_io *io, u64 addr, u64 *dst, u32 words)
{
	u32 off, saved, i;

	if (words * 8ULL > LENS_WINDOW_PIECE || addr & 7)
		return -EINVAL;
	off = borrow(io, addr, &saved);
	if (!off)
		return -EIO;
	for (i = 0; i < words; i++)
		dst[i] = io->ops->rd64(io, off + i * 8);
	give_back(io, addr, saved);
	return 0;
}

int lens_window_store32(struct lens_io *io, u64 addr, u32 val)
{
	u32 off, saved, back;

	if (addr & 3)
		return -EINVAL;
	off = borrow(io, addr, &saved);
	if (!off)
		return -EIO;
	io->ops->wr32(io, off, val);
	back = io->ops->rd32(io, off);
	give_back(io, addr, saved);
	return back == val ? 0 : -EIO;
}
