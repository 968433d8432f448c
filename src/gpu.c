// SPDX-License-Identifier: GPL-2.0
/*
 * From a mapped BAR0 to a known GPU: identification, and the one reading of its
 * topology. The tables' layouts are in ptop.c, gpc.c and ce.c; the chip's row
 * says which apply.
 */
#include "core.h"
#include "../include/hw/pmc.h"

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

int lens_gpu_read_memory_size(struct lens_gpu *gpu, u64 *bytes)
{
	struct lens_topology *t = &gpu->topo;
	int err = 0;

	/* A Tegra GPU has no memory of its own. */
	if (!gpu->known || !gpu->chip->memory_bytes || gpu->id->soc)
		return -EOPNOTSUPP;
	/* Firmware or a driver writes the register once; before that it reads 0. */
	if (!t->memory_bytes)
		err = gpu->chip->memory_bytes(gpu, &t->memory_bytes);
	gpu->io->memory_bytes = t->memory_bytes;
	*bytes = t->memory_bytes;
	return err ? err : *bytes ? 0 : -ENODATA;
}

int lens_gpu_read_host_again(struct lens_gpu *gpu)
{
	return gpu->topo.host_err ? gpu->chip->host->read_runlists(gpu) : 0;
}

int lens_gpu_read_topology(struct lens_gpu *gpu)
{
	u64 bytes;
	int err;

	memset(&gpu->topo, 0, sizeof(gpu->topo));
	gpu->io->memory_bytes = 0;
	/* The rest is read even if the size is unknown. */
	if (lens_gpu_read_memory_size(gpu, &bytes) == -ENODEV)
		return -ENODEV;
	err = gpu->chip->read_devices(gpu);
	if (!err && lens_gpu_has_host(gpu))
		err = gpu->chip->host->read_runlists(gpu);
	if (err)
		return err;
	/* Fuses and copy engines may be privileged; the rest is useful without them. */
	gpu->topo.gpcs_err = lens_read_gpcs(gpu);
	gpu->topo.ce_err = lens_read_copy_engines(gpu);
	if (gpu->topo.gpcs_err == -ENODEV || gpu->topo.ce_err == -ENODEV)
		return -ENODEV;
	lens_sort_engines(&gpu->topo);
	return 0;
}
