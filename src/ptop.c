// SPDX-License-Identifier: GPL-2.0
/*
 * The device table (PTOP): which engines exist and where. Two layouts.
 *
 *  v1, Kepler .. Turing: 64 rows. A device is a run of rows joined by CHAIN;
 *      each row says in ENTRY what it holds. Rows of ENTRY 0 lie anywhere.
 *  v2, Ampere ..: NUM_ROWS rows. A device is a record of up to three rows
 *      joined by CHAIN; zero rows lie between records, and a zero row inside
 *      a record is its last.
 *
 *	row 0	C|type 30:24|instance 23:16|group|fault id 10:0
 *	row 1	C|engine 30|pri base 25:8, in place|reset id 7:0
 *	row 2	C|runlist pri base 25:10, in place|number in runlist 1:0
 *
 * If a row cannot be read, the device that it may belong to is left out and devices_err
 * is set. Devices beyond the chip's limit are counted, and set devices_err as well.
 *
 * Sources: open-gpu-doc turing/tu104/dev_top.ref.txt; open-gpu-kernel-modules
 * blackwell/gb100/dev_top.h; zero rows: linux-nvgpu hal/top/top_ga10b_fusa.c.
 * v2 is published for GA100 and GB100 and assumed for AD102 and GH100.
 */
#include "core.h"
#include "../include/hw/ptop.h"

/*
 * NUM_ROWS has 12 bits. The longest published table (GB100) has 353 rows. Assumed:
 * no table leaves its page of 4 KiB.
 */
#define V2_ROWS_MAX ((0x23000 - NV_PTOP_DEVICE_INFO2(0)) / 4)

static void ptop_clear_engine(struct lens_engine *e)
{
	memset(e, 0, sizeof(*e));
	e->runlist = LENS_NONE;
	e->engine_id = LENS_NONE;
	e->intr = LENS_NONE;
	e->reset = LENS_NONE;
	e->fault = LENS_NONE;
}

/* Devices beyond the limit are counted. */
static void ptop_keep_engine(struct lens_gpu *gpu, const struct lens_engine *e)
{
	struct lens_topology *t = &gpu->topo;

	if (t->n_engines < gpu->chip->engines) {
		t->engines[t->n_engines++] = *e;
		return;
	}
	t->dropped_engines++;
	if (!t->devices_err)
		t->devices_err = -ENOSPC;
}

static void ptop_decode_v1_row(u32 row, struct lens_engine *e, bool *typed)
{
	switch (DRF_VAL(NV_PTOP_DEVICE_INFO_ENTRY, row)) {
	case NV_PTOP_DEVICE_INFO_ENTRY_DATA:
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_DATA_TYPE, row) !=
		    NV_PTOP_DEVICE_INFO_DATA_TYPE_ENUM2)
			return;
		e->inst = DRF_VAL(NV_PTOP_DEVICE_INFO_DATA_INST_ID, row);
		e->pri_base = DRF_VAL(NV_PTOP_DEVICE_INFO_DATA_PRI_BASE, row)
			      << DRF_LO(NV_PTOP_DEVICE_INFO_DATA_PRI_BASE);
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_DATA_FAULT_ID, row))
			e->fault = DRF_VAL(NV_PTOP_DEVICE_INFO_DATA_FAULT_ID_ENUM, row);
		break;
	case NV_PTOP_DEVICE_INFO_ENTRY_ENUM:
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_RESET, row))
			e->reset = DRF_VAL(NV_PTOP_DEVICE_INFO_RESET_ENUM, row);
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_INTR, row))
			e->intr = DRF_VAL(NV_PTOP_DEVICE_INFO_INTR_ENUM, row);
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_RUNLIST, row))
			e->runlist = DRF_VAL(NV_PTOP_DEVICE_INFO_RUNLIST_ENUM, row);
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_ENGINE, row))
			e->engine_id = DRF_VAL(NV_PTOP_DEVICE_INFO_ENGINE_ENUM, row);
		break;
	case NV_PTOP_DEVICE_INFO_ENTRY_ENGINE_TYPE:
		e->type = DRF_VAL(NV_PTOP_DEVICE_INFO_TYPE_ENUM, row);
		*typed = true;
		break;
	}
}

int lens_ptop_v1_read(struct lens_gpu *gpu)
{
	bool open = false, typed = false, damaged = false;
	struct lens_topology *t = &gpu->topo;
	struct lens_engine e;
	u32 i, row;
	int err;

	for (i = 0; i < NV_PTOP_DEVICE_INFO__SIZE_1; i++) {
		err = lens_rd32(gpu, NV_PTOP_DEVICE_INFO(i), &row);
		if (err == -ENODEV)
			return err;
		if (err) {
			t->devices_err = err;
			damaged = true;
			open = false;
			continue;
		}
		if (DRF_VAL(NV_PTOP_DEVICE_INFO_ENTRY, row) == NV_PTOP_DEVICE_INFO_ENTRY_NOT_VALID)
			continue;
		if (damaged) {
			damaged = DRF_VAL(NV_PTOP_DEVICE_INFO_CHAIN, row);
			continue;
		}
		if (!open) {
			ptop_clear_engine(&e);
			typed = false;
		}
		ptop_decode_v1_row(row, &e, &typed);
		open = DRF_VAL(NV_PTOP_DEVICE_INFO_CHAIN, row);
		/* A chain without a type row, or without an end, is not a device. */
		if (!open && typed)
			ptop_keep_engine(gpu, &e);
	}
	return t->n_engines ? 0 : t->devices_err;
}

static void ptop_decode_v2_record(const u32 rec[3], u32 rows, struct lens_engine *e)
{
	ptop_clear_engine(e);
	e->type = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_TYPE_ENUM, rec);
	e->inst = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_INSTANCE_ID, rec);
	if (DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_FAULT_ID, rec))
		e->fault = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_FAULT_ID, rec);
	if (rows > 1) {
		if (DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_RESET_ID, rec))
			e->reset = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_RESET_ID, rec);
		e->pri_base = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_DEVICE_PRI_BASE, rec)
			      << (DRF_LO(NV_PTOP_DEVICE_INFO2_DEV_DEVICE_PRI_BASE) % 32);
	}
	if (rows > 2 && DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_IS_ENGINE, rec)) {
		e->rleng = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_RLENG_ID, rec);
		e->runlist_base = DRF_VAL_MW(NV_PTOP_DEVICE_INFO2_DEV_RUNLIST_PRI_BASE, rec)
				  << (DRF_LO(NV_PTOP_DEVICE_INFO2_DEV_RUNLIST_PRI_BASE) % 32);
	}
}

/*
 * Read the table of one die, at an offset from the first die's. Returns errors of the
 * configuration; unreadable rows set devices_err.
 */
static int ptop_read_v2_die(struct lens_gpu *gpu, u32 die_off)
{
	struct lens_topology *t = &gpu->topo;
	u32 i, rows, row, cfg, n = 0, rec[3];
	bool damaged = false;
	struct lens_engine e;
	int err;

	err = lens_rd32(gpu, die_off + NV_PTOP_DEVICE_INFO_CFG, &cfg);
	if (err)
		return err;
	if (DRF_VAL(NV_PTOP_DEVICE_INFO_CFG_VERSION, cfg) != NV_PTOP_DEVICE_INFO_CFG_VERSION_INIT)
		return -EOPNOTSUPP;
	rows = DRF_VAL(NV_PTOP_DEVICE_INFO_CFG_NUM_ROWS, cfg);
	if (rows > V2_ROWS_MAX) {
		t->devices_err = -EIO;
		rows = V2_ROWS_MAX;
	}
	for (i = 0; i < rows; i++) {
		err = lens_rd32(gpu, die_off + NV_PTOP_DEVICE_INFO2(i), &row);
		if (err == -ENODEV)
			return err;
		if (err) {
			t->devices_err = err;
			damaged = true;
			n = 0;
			continue;
		}
		/* A damaged record ends with its last row, or with a zero row. */
		if (damaged) {
			damaged = DRF_VAL(NV_PTOP_DEVICE_INFO2_ROW_CHAIN, row);
			continue;
		}
		if (!n && !row)
			continue;
		if (!n)
			memset(rec, 0, sizeof(rec));
		if (n < LENS_ARRAY_SIZE(rec))
			rec[n] = row;
		n++;
		if (DRF_VAL(NV_PTOP_DEVICE_INFO2_ROW_CHAIN, row))
			continue;
		ptop_decode_v2_record(rec, n, &e);
		ptop_keep_engine(gpu, &e);
		n = 0;
	}
	return 0;
}

int lens_ptop_v2_read(struct lens_gpu *gpu)
{
	int err = ptop_read_v2_die(gpu, 0);

	return err || gpu->topo.n_engines ? err : gpu->topo.devices_err;
}

/* GB100 has a second table for its second die, unreadable on a part with one die. */
int lens_ptop_v2_read_two_dies(struct lens_gpu *gpu)
{
	int err;

	err = ptop_read_v2_die(gpu, 0);
	if (err)
		return err;
	err = ptop_read_v2_die(gpu, NV_PTOP1_DEVICE_INFO_CFG - NV_PTOP_DEVICE_INFO_CFG);
	if (err == -ENODEV)
		return err;
	return gpu->topo.n_engines ? 0 : gpu->topo.devices_err;
}
