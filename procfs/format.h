/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Formatters of the text of /proc/gpuX files, in the kernel and in user space. They access no GPU
 * and take no lock. docs/proc.md describes the text.
 */
#ifndef _LENS_FORMAT_H_
#define _LENS_FORMAT_H_

#include "../include/gpulens/gpu.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* r: what of the runlists can be read; NULL: unknown. */
void lens_format_chip(struct lens_text *t, const struct lens_gpu *gpu, const char *where,
		      const struct lens_readable *r);
void lens_format_device_info(struct lens_text *t, const struct lens_gpu *gpu);
void lens_format_copy_topology(struct lens_text *t, const struct lens_gpu *gpu,
			       const struct lens_ce_map *map);
/* places: the hardware's order or counts; NULL or without TPCs: count TPCs GPC by GPC. */
void lens_format_tpc_map(struct lens_text *t, const struct lens_gpu *gpu,
			 const struct lens_tpc_places *places);
/* If the entries could not be read (entries_err), prints the registers and the reason. */
void lens_format_runlist(struct lens_text *t, const struct lens_gpu *gpu,
			 const struct lens_runlist_snap *snap);
struct lens_bars;
void lens_format_bars(struct lens_text *t, const struct lens_bars *bars);
/* Numbers of reads or writes of a kind of file. name: of its type, which may contain %u. */
void lens_format_calls(struct lens_text *t, bool writes, const char *name, u64 calls, u64 failed);
void lens_format_cost(struct lens_text *t, const struct lens_cost *cost);
/* Numbers of ticks with and without samples. */
void lens_format_ticks(struct lens_text *t, u64 ticks, u64 lost);
/* "vid" for a TARGET field of 0, "sys coh" for 2. */
const char *lens_target_name(u32 target);
/* "on pbdma+eng" for NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG. */
const char *lens_status_name(u32 status);

#ifdef __cplusplus
}
#endif

#endif /* _LENS_FORMAT_H_ */
