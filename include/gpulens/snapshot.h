/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was read of a GPU, as the records of a snapshot (include/uapi/gpulens.h): of the module's
 * file, and of an image that user space decodes.
 */
#ifndef _GPULENS_SNAPSHOT_H_
#define _GPULENS_SNAPSHOT_H_

#include "gpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpulens_engine;

/**
 * struct lens_snapshot - what was read of a GPU at one time
 * @where:	PCI address or platform name
 * @memory_bytes: of GPU memory; 0: unknown
 * @ce:		copy engines' map, if @ce_err is 0
 * @ce_err:	0 or -errno
 * @snap:	by index of the topology's runlists, with rl set; entries if its @err is 0
 * @err:	0 or -errno
 * @engines_read: now and now_err are filled
 * @now:	by index of the topology's engines, if its @now_err is 0
 * @now_err:	0 or -errno
 */
struct lens_snapshot {
	const char *where;
	u64 memory_bytes;
	struct lens_ce_map ce;
	int ce_err;
	struct lens_runlist_snap snap[LENS_MAX_RUNLISTS];
	int err[LENS_MAX_RUNLISTS];
	bool engines_read;
	struct lens_engine_status now[LENS_MAX_ENGINES];
	int now_err[LENS_MAX_ENGINES];
};

/**
 * lens_snapshot_encode() - lay out a GPU as records
 * @gpu:	GPU with its topology
 * @s:		what was read of it
 * @records:	room for @room records of GPULENS_RECORD_BYTES, aligned to 8 bytes
 * @room:	records that are written at most; with 0, @records may be NULL
 *
 * Return: number of records that it takes, without the header.
 */
u32 lens_snapshot_encode(const struct lens_gpu *gpu, const struct lens_snapshot *s, void *records,
			 u32 room);

/**
 * lens_snapshot_put_engine() - fill the record of an engine
 * @gpu:	GPU with its topology
 * @e:		engine of it
 * @rec:	zeroed
 */
void lens_snapshot_put_engine(const struct lens_gpu *gpu, const struct lens_engine *e,
			      struct gpulens_engine *rec);

/**
 * lens_sample_flags() - the flags of a sample or of the record of what is on an engine
 * @status:	of the engine
 *
 * Return: GPULENS_SAMPLE_*.
 */
u8 lens_sample_flags(const struct lens_engine_status *status);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_SNAPSHOT_H_ */
