// SPDX-License-Identifier: GPL-2.0
/*
 * The files of /proc/gpuX that show something: a function for each, and the table of them.
 */
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/hw/drf.h"
#include "../include/hw/ptop.h"
#include "../include/hw/runlist.h"
#include "files.h"

static int show_hex(struct lens_text *t, u32 v)
{
	lens_text_add(t, "%#x\n", v);
	return 0;
}

static int show_chip(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_readable readable, *r = NULL;
	struct lens_gpu *gpu = &f->dev->gpu;
	int err;

	/* Reads GPU memory, to find out whether runlists can be read. */
	if (observe && lens_gpu_has_host(gpu)) {
		err = lens_dev_begin_use(f->dev);
		if (!err)
			err = lens_dev_end_use(f->dev, lens_check_readable(gpu, &readable));
		if (err && err != -ENODATA)
			return err;
		r = err ? NULL : &readable;
	}
	lens_format_chip(t, gpu, f->dev->where, r);
	return 0;
}

static int show_device_info(const struct lens_file *f, bool observe, struct lens_text *t)
{
	lens_format_device_info(t, &f->dev->gpu);
	return 0;
}

/* Not kept: the GPU's driver may change it. */
static int show_read_ce_map(const struct lens_file *f, struct lens_ce_map *map)
{
	int err = lens_dev_begin_use(f->dev);

	if (err)
		return err;
	return lens_dev_end_use(f->dev, lens_ce_map_read(&f->dev->gpu, map));
}

static int show_copy_topology(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_ce_map map;
	int err = show_read_ce_map(f, &map);

	if (!err)
		lens_format_copy_topology(t, &f->dev->gpu, &map);
	return err;
}

/*
 * The hardware's order is a driver's; without it, or while the GPU is asleep, the kept fuses. Where
 * no fuses are published, the counts, which are not kept.
 */
static int show_tpc_map(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_gpu *gpu = &f->dev->gpu;
	struct lens_tpc_places places = { };
	bool counts = lens_gpc_has_counts(gpu);
	int err;

	if (gpu->topo.gpcs_err && !counts)
		return gpu->topo.gpcs_err;
	err = lens_dev_begin_use(f->dev);
	if (!err) {
		err = counts ? 0 : lens_cwd_check_context(gpu);
		if (!err)
			err = counts ? lens_gpc_read_counts(gpu, &places) :
				       lens_cwd_read_places(gpu, &places);
		err = lens_dev_end_use(f->dev, counts || err == -ENODEV ? err : 0);
	}
	if (err && (counts || err != -ENODATA))
		return err;
	lens_format_tpc_map(t, gpu, &places);
	return 0;
}

static int show_cwd_word(const struct lens_file *f, u32 reg, struct lens_text *t)
{
	u32 v = 0;
	int err = lens_dev_begin_use(f->dev);

	if (err)
		return err;
	err = lens_cwd_check_context(&f->dev->gpu);
	if (!err)
		err = lens_cwd_read_word(&f->dev->gpu, reg, f->arg, &v);
	err = lens_dev_end_use(f->dev, err);
	return err ? err : show_hex(t, v);
}

static int show_cwd_gpc_tpc_id(const struct lens_file *f, bool observe, struct lens_text *t)
{
	return show_cwd_word(f, f->dev->gpu.chip->cwd.gpc_tpc_id, t);
}

static int show_cwd_sm_id(const struct lens_file *f, bool observe, struct lens_text *t)
{
	return show_cwd_word(f, f->dev->gpu.chip->cwd.sm_id, t);
}

/* The number arg of a field of the topology or of the copy engines' map. */
static u32 show_get_field(const struct lens_file *f, const void *base)
{
	base += f->type->offset + f->arg * f->type->bytes;
	return f->type->bytes == 1 ? *(const u8 *)base : *(const u32 *)base;
}

/* A number that is 0 was not read if there is an error. */
static int show_topology(const struct lens_file *f, bool observe, struct lens_text *t)
{
	const void *topo = &f->dev->gpu.topo;
	u32 n = show_get_field(f, topo);
	int err = n ? 0 : *(const int *)(topo + f->type->err);

	return err ? err : show_hex(t, n);
}

static int show_ce_map(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_ce_map map;
	int err = show_read_ce_map(f, &map);

	return err ? err : show_hex(t, show_get_field(f, &map));
}

static int show_local_memory(const struct lens_file *f, bool observe, struct lens_text *t)
{
	u64 bytes = 0;
	int err = lens_dev_begin_use(f->dev);

	if (err)
		return err;
	err = lens_dev_end_use(f->dev, lens_gpu_read_memory_size(&f->dev->gpu, &bytes));
	if (!err)
		lens_text_add(t, "%llu\n", bytes);
	return err;
}

static int show_runlist(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_runlist_snap snap = { .rl = lens_gpu_find_runlist(&f->dev->gpu, f->arg) };
	int err = lens_snap_collect(f->dev, &snap, true);

	if (lens_entries_are_unreadable(&snap, err))
		err = 0;
	if (!err)
		lens_format_runlist(t, &f->dev->gpu, &snap);
	lens_snap_free(&snap);
	return err;
}

/* An engine without such a register has no line. */
static void show_format_timeout(const struct lens_gpu *gpu, u32 engine, u32 v, struct lens_text *t)
{
	char name[LENS_ENGINE_NAME];

	if (!v)
		return;
	lens_engine_format_name(gpu, &gpu->topo.engines[engine], name);
	lens_text_add(t, "%s: %s, %u us\n", name,
		      DRF_VAL(NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG_DETECTION, v) ? "on" : "off",
		      DRF_VAL(NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG_PERIOD, v));
}

static int show_ctxsw_timeout(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_gpu *gpu = &f->dev->gpu;
	u32 i, *v = kcalloc(gpu->topo.n_engines, sizeof(*v), GFP_KERNEL_ACCOUNT);
	int err = v ? lens_dev_begin_use(f->dev) : -ENOMEM;

	if (err)
		goto out;
	for (i = 0; i < gpu->topo.n_engines; i++) {
		err = lens_engine_read_timeout(gpu, &gpu->topo.engines[i], &v[i]);
		if (err && err != -EOPNOTSUPP)
			break;
	}
	err = lens_dev_end_use(f->dev, err == -EOPNOTSUPP && lens_gpu_has_host(gpu) ? 0 : err);
	for (i = 0; !err && i < gpu->topo.n_engines; i++)
		show_format_timeout(gpu, i, v[i], t);
out:
	kfree(v);
	return err;
}

static int show_bars(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_bars *bars = lens_bars_read(f->dev, &f->dev->gpu);

	if (IS_ERR(bars))
		return PTR_ERR(bars);
	lens_format_bars(t, bars);
	kvfree(bars);
	return 0;
}

#define FIELD(type, field) .offset = offsetof(type, field), .bytes = sizeof_field(type, field)
#define TOPOLOGY(field, error) .kept = true, .show = show_topology, \
	FIELD(struct lens_topology, field), .err = offsetof(struct lens_topology, error)
#define CE_MAP(field) .show = show_ce_map, FIELD(struct lens_ce_map, field)

const struct lens_file_type lens_single_files[] = {
	{ .name = "chip", .kept = true, .show = show_chip },
	{ .name = "device_info", .kept = true, .show = show_device_info },
	{ .name = "num_gpcs", TOPOLOGY(num_gpcs, gpcs_err) },
	{ .name = "num_tpc_per_gpc", TOPOLOGY(num_tpc_per_gpc, gpcs_err) },
	{ .name = "num_ces", TOPOLOGY(num_ces, ce_err) },
	{ .name = "gpc_mask", TOPOLOGY(gpc_mask, gpcs_err) },
	{ .name = "tpc_map", .show = show_tpc_map },
	{ .name = "pce_map", CE_MAP(pce_map) },
	{ .name = "copy_topology", .show = show_copy_topology },
	{ .name = "local_memory", .show = show_local_memory },
	{ .name = "bars", .access = LENS_ACCESS_SCHEDULING, .show = show_bars },
	{ .name = "ctxsw_timeout", .access = LENS_ACCESS_SCHEDULING, .show = show_ctxsw_timeout },
	{ .name = "snapshot", .show = lens_show_snapshot },
	{ .name = "image", .access = LENS_ACCESS_RAW, .show = lens_show_image },
	{ .name = "stats", .show = lens_show_stats },
	{ .name = "samples", .access = LENS_ACCESS_SAMPLES, .ops = &lens_samples_ops },
};

const u32 lens_single_file_count = ARRAY_SIZE(lens_single_files);

const struct lens_file_type lens_runlist_file = {
	.name = "runlist%u", .access = LENS_ACCESS_SCHEDULING, .show = show_runlist,
};

const struct lens_file_type lens_tpc_mask_file = {
	.name = "gpc%u_tpc_mask", TOPOLOGY(tpc_mask[0], gpcs_err),
};

const struct lens_file_type lens_lce_for_pce_file = {
	.name = "lce_for_pce%u", CE_MAP(lce_for_pce[0]),
};

const struct lens_file_type lens_shared_lce_file = {
	.name = "shared_lce_for_grce%u", CE_MAP(shared_lce[0]),
};

const struct lens_file_type lens_cwd_gpc_tpc_id_file = {
	.name = "CWD_GPC_TPC_ID%u", .show = show_cwd_gpc_tpc_id,
};

const struct lens_file_type lens_cwd_sm_id_file = {
	.name = "CWD_SM_ID%u", .show = show_cwd_sm_id,
};
