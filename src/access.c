// SPDX-License-Identifier: GPL-2.0
/*
 * Checked access to a GPU: registers, memory, waiting for a register, requests.
 *
 * Nothing here knows the topology; which registers there are is the caller's.
 */
#include "core.h"
#include "../include/hw/pmc.h"

/*
 * Error words of the priv ring and of Host. Sources: open-gpu-kernel-modules
 * maxwell/gm107/dev_pri_ringstation_sys.h (0xbadf....); linux-nvgpu
 * hal/priv_ring/priv_ring_ga10b_fusa.c (0xbad0....).
 */
bool lens_is_bad_read(u32 val)
{
	return (val >> 16) == 0xbadf || (val >> 16) == 0xbad0;
}

int lens_rd32(struct lens_gpu *gpu, u32 off, u32 *val)
{
	*val = gpu->io->ops->rd32(gpu->io, off);
	if (*val == 0xffffffff) {
		/* All ones: either this register failed, or the GPU is gone. */
		u32 boot0 = gpu->io->ops->rd32(gpu->io, NV_PMC_BOOT_0);

		return boot0 == 0xffffffff ? -ENODEV : -EIO;
	}
	return lens_is_bad_read(*val) ? -EIO : 0;
}

int lens_rd32_address(struct lens_gpu *gpu, u32 off, u32 reserved, u32 *val)
{
	int err = lens_rd32(gpu, off, val);

	/* All ones is -EIO as well, but has reserved bits set. */
	return err == -EIO && !(*val & reserved) ? 0 : err;
}

void lens_wr32(struct lens_gpu *gpu, u32 off, u32 val)
{
	gpu->io->ops->wr32(gpu->io, off, val);
}

int lens_copy_memory(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	return gpu->io->ops->copy(gpu->io, gpu->id->soc ? LENS_SYS : ap, addr, dst, words);
}

int lens_store32(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 val)
{
	return gpu->io->ops->store32(gpu->io, gpu->id->soc ? LENS_SYS : ap, addr, val);
}

int lens_run_exclusive_at(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr,
			  int (*fn)(void *arg), void *arg)
{
	const struct lens_io_ops *ops = gpu->io->ops;

	if (gpu->id->soc)
		ap = LENS_SYS;
	if (ops->exclusive_at)
		return ops->exclusive_at(gpu->io, ap, addr, fn, arg);
	return ap == LENS_VID ? ops->exclusive(gpu->io, fn, arg) : fn(arg);
}

/* *waited: microseconds waited so far, over all waits of one request. */
static int access_poll_clear(struct lens_gpu *gpu, u32 off, u32 mask, u32 *waited)
{
	u32 step = 10, val;
	int err;

	for (;;) {
		err = lens_rd32(gpu, off, &val);
		if (err || !(val & mask))
			return err;
		if (*waited >= LENS_TIMEOUT_US)
			return -ETIMEDOUT;
		err = gpu->io->ops->wait_us(gpu->io, step);
		if (err)
			return err;
		*waited += step;
		/* Longer and longer steps: the number of reads is bounded even if each is slow. */
		if (step < 50000)
			step *= 2;
	}
}

int lens_poll_clear(struct lens_gpu *gpu, u32 off, u32 mask)
{
	u32 waited = 0;

	return access_poll_clear(gpu, off, mask, &waited);
}

int lens_run_atomic(struct lens_request *r, int (*fn)(void *request))
{
	return r->gpu->io->ops->atomic(r->gpu->io, fn, r);
}

#define BUSY_TRIES 4

int lens_run_atomic_when_clear(struct lens_request *r, int (*fn)(void *request), u32 off, u32 mask)
{
	u32 waited = 0;
	int err, tries;

	for (tries = 1;; tries++) {
		err = lens_run_atomic(r, fn);
		if (err != -EBUSY || tries == BUSY_TRIES)
			return err;
		err = access_poll_clear(r->gpu, off, mask, &waited);
		/* Nothing was written yet: the pending request is the driver's. */
		if (err)
			return err == -ETIMEDOUT ? -EBUSY : err;
	}
}

int lens_run_atomic_and_wait(struct lens_request *r, int (*fn)(void *request), u32 off, u32 mask)
{
	int err;

	/* No retry with an expected list: a list that was replaced does not come back. */
	err = r->expected ? lens_run_atomic(r, fn) : lens_run_atomic_when_clear(r, fn, off, mask);
	return err || !r->written ? err : lens_poll_clear(r->gpu, off, mask);
}
