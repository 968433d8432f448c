// SPDX-License-Identifier: GPL-2.0
/*
 * From a mapped BAR0 to a known GPU: checked register reads, identification,
 * and the one reading of its topology. Layouts of the tables are elsewhere
 * (ptop.c, gpc.c, ce.c); which apply is the chip's row.
 */
#include "core.h"
#include "../include/hw/fb.h"
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
		/* All ones: either this register failed, or nobody is there. */
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

int lens_copy(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	return gpu->io->ops->copy(gpu->io, gpu->id->soc ? LENS_SYS : ap, addr, dst, words);
}

int lens_store32(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 val)
{
	return gpu->io->ops->store32(gpu->io, gpu->id->soc ? LENS_SYS : ap, addr, val);
}

int lens_exclusive_at(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr,
		      int (*fn)(void *arg), void *arg)
{
	const struct lens_io_ops *ops = gpu->io->ops;

	if (gpu->id->soc)
		ap = LENS_SYS;
	if (ops->exclusive_at)
		return ops->exclusive_at(gpu->io, ap, addr, fn, arg);
	return ap == LENS_VID ? ops->exclusive(gpu->io, fn, arg) : fn(arg);
}

/* *waited: microseconds so far, of all waits of a request for the same thing. */
static int gpu_poll_clear(struct lens_gpu *gpu, u32 off, u32 mask, u32 *waited)
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
		/* Few looks, so that the wait stays bounded where each takes long. */
		if (step < 50000)
			step *= 2;
	}
}

int lens_poll_clear(struct lens_gpu *gpu, u32 off, u32 mask)
{
	u32 waited = 0;

	return gpu_poll_clear(gpu, off, mask, &waited);
}

int lens_atomic(struct lens_request *r, int (*fn)(void *request))
{
	return r->gpu->io->ops->atomic(r->gpu->io, fn, r);
}

#define BUSY_TRIES 4

int lens_atomic_when_clear(struct lens_request *r, int (*fn)(void *request), u32 off, u32 mask)
{
	u32 waited = 0;
	int err, tries;

	for (tries = 1;; tries++) {
		err = lens_atomic(r, fn);
		if (err != -EBUSY || tries == BUSY_TRIES)
			return err;
		err = gpu_poll_clear(r->gpu, off, mask, &waited);
		/* Nothing was asked for yet: what is waited for is another's. */
		if (err)
			return err == -ETIMEDOUT ? -EBUSY : err;
	}
}

int lens_atomic_and_wait(struct lens_request *r, int (*fn)(void *request), u32 off, u32 mask)
{
	int err;

	/* A list that is no longer the expected one does not become it again. */
	err = r->expected ? lens_atomic(r, fn) : lens_atomic_when_clear(r, fn, off, mask);
	return err || !r->written ? err : lens_poll_clear(r->gpu, off, mask);
}

int lens_gpu_identify(struct lens_gpu *gpu, struct lens_io *io)
{
	u32 arch;
	int err;

	memset(gpu, 0, sizeof(*gpu));
	gpu->io = io;
	err = lens_rd32(gpu, NV_PMC_BOOT_0, &gpu->boot0);
	if (err)
		return err;
	arch = DRF_VAL(NV_PMC_BOOT_0_ARCHITECTURE_0, gpu->boot0) |
	       DRF_VAL(NV_PMC_BOOT_0_ARCHITECTURE_1, gpu->boot0) << 5;
	gpu->chip_id = arch << 4 | DRF_VAL(NV_PMC_BOOT_0_IMPLEMENTATION, gpu->boot0);
	gpu->chip = lens_chip_find(gpu->chip_id, &gpu->id, &gpu->known);
	if (!gpu->chip)
		return -ENODEV;
	gpu->name = gpu->known ? gpu->id->name : gpu->chip->name;
	io->window = &gpu->chip->window;
	return 0;
}

int lens_gpu_memory(struct lens_gpu *gpu, u64 *bytes)
{
	struct lens_topology *t = &gpu->topo;
	int err = 0;

	/* A Tegra GPU has none of its own. */
	if (!gpu->known || !gpu->chip->memory_bytes || gpu->id->soc)
		return -EOPNOTSUPP;
	/* Firmware or a driver writes the register once; before that it reads 0. */
	if (!t->memory_bytes)
		err = gpu->chip->memory_bytes(gpu, &t->memory_bytes);
	gpu->io->memory_bytes = t->memory_bytes;
	*bytes = t->memory_bytes;
	return err ? err : *bytes ? 0 : -ENODATA;
}

int lens_gpu_read_topology(struct lens_gpu *gpu)
{
	u64 bytes;
	int err;

	memset(&gpu->topo, 0, sizeof(gpu->topo));
	gpu->io->memory_bytes = 0;
	/* Unknown is no reason to go without the rest. */
	if (lens_gpu_memory(gpu, &bytes) == -ENODEV)
		return -ENODEV;
	err = gpu->chip->read_devices(gpu);
	if (!err && lens_gpu_has_host(gpu))
		err = gpu->chip->host->read_runlists(gpu);
	if (err)
		return err;
	/* Fuses and copy engines may be locked away from us; the rest is of use alone. */
	gpu->topo.gpcs_err = lens_read_gpcs(gpu);
	gpu->topo.ce_err = lens_read_copy_engines(gpu);
	if (gpu->topo.gpcs_err == -ENODEV || gpu->topo.ce_err == -ENODEV)
		return -ENODEV;
	lens_sort_engines(&gpu->topo);
	return 0;
}

bool lens_gpu_has_host(const struct lens_gpu *gpu)
{
	return gpu->known && gpu->chip->host;
}

u32 lens_engine_regs(const struct lens_gpu *gpu, const struct lens_engine *e, u32 reg[2])
{
	return lens_gpu_has_host(gpu) ? gpu->chip->host->engine_regs(e, reg) : 0;
}

int lens_engine_read(struct lens_gpu *gpu, const struct lens_engine *e,
		     struct lens_engine_status *s)
{
	u32 reg[2], w[2] = { }, n = lens_engine_regs(gpu, e, reg);
	int err;

	if (!n)
		return -EOPNOTSUPP;
	err = lens_rd32(gpu, reg[0], &w[0]);
	if (err)
		return err;
	/* The second one only says which channel; without it that is unknown. */
	if (n > 1) {
		err = lens_rd32(gpu, reg[1], &w[1]);
		if (err == -ENODEV)
			return err;
		if (err)
			w[1] = 0;
	}
	gpu->chip->host->decode_engine(w, s);
	return 0;
}

u32 lens_runlist_limit(const struct lens_gpu *gpu)
{
	return gpu->id->runlists ? gpu->id->runlists : gpu->chip->runlists;
}

const struct lens_runlist *lens_gpu_runlist(const struct lens_gpu *gpu, u32 id)
{
	u32 i;

	for (i = 0; i < gpu->topo.n_runlists; i++)
		if (gpu->topo.runlists[i].id == id)
			return &gpu->topo.runlists[i];
	return NULL;
}

/*
 * LOWER_MAG << (LOWER_SCALE + 20) bytes, a sixteenth less under ECC.
 * open-gpu-kernel-modules kern_mem_sys_gp102.c kmemsysReadUsableFbSize_GP102,
 * which it uses for Turing and GA100 too; Volta: linux-nvgpu hw_fb_gv100.h.
 */
int lens_memory_bytes_gp102(struct lens_gpu *gpu, u64 *bytes)
{
	u32 v;
	int err = lens_rd32(gpu, NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE, &v);

	if (err)
		return err;
	*bytes = (u64)DRF_VAL(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_MAG, v)
		 << (DRF_VAL(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_SCALE, v) + 20);
	if (DRF_VAL(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_ECC_MODE, v))
		*bytes = (*bytes >> 4) * 15;
	return 0;
}

/* In MiB, from GA102 on (dispatch of kmemsysReadUsableFbSize in g_kern_mem_sys_nvoc.c). */
int lens_memory_bytes_ga102(struct lens_gpu *gpu, u64 *bytes)
{
	u32 v;
	int err = lens_rd32(gpu, NV_USABLE_FB_SIZE_IN_MB, &v);

	if (!err)
		*bytes = (u64)v << 20;
	return err;
}
