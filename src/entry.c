// SPDX-License-Identifier: GPL-2.0
/*
 * Runlist entries in memory, both layouts, and the time slice they carry.
 *
 *   8 bytes (Kepler .. Pascal)
 *     word 0 of a TSG      length 31:26  timeout 25:18  scale 17:14  1 13  id 11:0
 *     word 0 of a channel  runqueue 14 (Pascal)  0 13  id 11:0
 *     word 1 of a channel  instance block >> 12
 *   16 bytes (Volta ..)    NV_RAMRL_ENTRY_* of include/hw/ram.h
 *
 * Sources: include/hw/ram.h names them line by line; word 1 of 8-byte entries: Linux
 * drivers/gpu/drm/nouveau/nvkm/engine/fifo/gm107.c.
 */
#include "core.h"
#include "../include/hw/ram.h"

void lens_entry_decode_8(const u32 *w, struct lens_entry *e)
{
	memset(e, 0, sizeof(*e));
	e->id = DRF_VAL(NV_RAMRL_LEGACY_ENTRY_ID, w[0]);
	e->is_tsg = DRF_VAL(NV_RAMRL_LEGACY_ENTRY_TYPE, w[0]) == NV_RAMRL_LEGACY_ENTRY_TYPE_TSG;
	if (e->is_tsg) {
		e->scale = DRF_VAL(NV_RAMRL_LEGACY_ENTRY_TIMESLICE_SCALE, w[0]);
		e->timeout = DRF_VAL(NV_RAMRL_LEGACY_ENTRY_TIMESLICE_TIMEOUT, w[0]);
		e->length = DRF_VAL(NV_RAMRL_LEGACY_ENTRY_TSG_LENGTH, w[0]);
	} else {
		e->runqueue = DRF_VAL(NV_RAMRL_LEGACY_ENTRY_CHAN_RUNQUEUE, w[0]);
		e->inst = (u64)w[1] << 12;
	}
}

void lens_entry_decode_16(const u32 *w, struct lens_entry *e)
{
	memset(e, 0, sizeof(*e));
	e->id = DRF_VAL_MW(NV_RAMRL_ENTRY_ID, w);
	e->is_tsg = DRF_VAL_MW(NV_RAMRL_ENTRY_TYPE, w) == NV_RAMRL_ENTRY_TYPE_TSG;
	if (e->is_tsg) {
		e->scale = DRF_VAL_MW(NV_RAMRL_ENTRY_TSG_TIMESLICE_SCALE, w);
		e->timeout = DRF_VAL_MW(NV_RAMRL_ENTRY_TSG_TIMESLICE_TIMEOUT, w);
		e->length = DRF_VAL_MW(NV_RAMRL_ENTRY_TSG_LENGTH, w);
	} else {
		e->runqueue = DRF_VAL_MW(NV_RAMRL_ENTRY_CHAN_RUNQUEUE_SELECTOR, w);
		e->has_target = true;
		e->inst_target = DRF_VAL_MW(NV_RAMRL_ENTRY_CHAN_INST_TARGET, w);
		e->inst = (u64)w[3] << 32 |
			  DRF_VAL_MW(NV_RAMRL_ENTRY_CHAN_INST_PTR_LO, w)
			  << NV_RAMRL_ENTRY_CHAN_INST_PTR_ALIGN_SHIFT;
	}
}

void lens_group_add(struct lens_group *g, const struct lens_entry *e)
{
	if (e->is_tsg) {
		g->tsgid = e->id;
		g->length = e->length;
		g->left = e->length;
	} else if (g->left) {
		g->left--;
	} else {
		g->tsgid = LENS_NONE;
	}
}

/*
 * dev_ram.ref.txt (GV100, GA100): the period is TIMEOUT << SCALE units of 1024 ns of
 * PTIMER; a TIMEOUT of 0 means a period of one unit.
 */
u64 lens_timeslice_decode(u32 timeout, u32 scale)
{
	if (!timeout)
		return 1024;
	return ((u64)timeout << scale) * 1024;
}

/*
 * A slice of n us is n * 125 / 128 units of 1024 ns. The smallest scale at which it
 * fits is the finest; beyond 255.5 steps of a scale, the next scale is nearer.
 */
int lens_timeslice_encode(u32 us, u32 *timeout, u32 *scale)
{
	u32 s, t;

	if (!us || us > LENS_TIMESLICE_MAX_US)
		return -ERANGE;
	for (s = 0;; s++) {
		t = (us * 125 + (64U << s) - 1) >> (7 + s);
		if (t <= DRF_MASK(NV_RAMRL_ENTRY_TSG_TIMESLICE_TIMEOUT))
			break;
	}
	*timeout = t;
	*scale = s;
	return 0;
}

u32 lens_entry_set_timeslice_8(u32 word, u32 timeout, u32 scale)
{
	word &= ~(DRF_NUM(NV_RAMRL_LEGACY_ENTRY_TIMESLICE_TIMEOUT, ~0U) |
		  DRF_NUM(NV_RAMRL_LEGACY_ENTRY_TIMESLICE_SCALE, ~0U));
	return word | DRF_NUM(NV_RAMRL_LEGACY_ENTRY_TIMESLICE_TIMEOUT, timeout) |
	       DRF_NUM(NV_RAMRL_LEGACY_ENTRY_TIMESLICE_SCALE, scale);
}

u32 lens_entry_set_timeslice_16(u32 word, u32 timeout, u32 scale)
{
	word &= ~(DRF_NUM(NV_RAMRL_ENTRY_TSG_TIMESLICE_TIMEOUT, ~0U) |
		  DRF_NUM(NV_RAMRL_ENTRY_TSG_TIMESLICE_SCALE, ~0U));
	return word | DRF_NUM(NV_RAMRL_ENTRY_TSG_TIMESLICE_TIMEOUT, timeout) |
	       DRF_NUM(NV_RAMRL_ENTRY_TSG_TIMESLICE_SCALE, scale);
}
