/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events, which tracepoints.h defines.
 */
#ifndef _LENS_TRACE_H_
#define _LENS_TRACE_H_

#include <linux/types.h>

struct lens_dev;

/* Trace a write to a control file, also a refused one. */
void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result);

/* Its status was not readable, or was not read yet. */
#define LENS_TRACE_UNKNOWN (-2)

/* What a sampler found on an engine: ids; LENS_NONE: none; LENS_TRACE_UNKNOWN. */
struct lens_trace_occupant {
	int tsg, channel;
};

/*
 * Trace that a sampler found another occupant on an engine than in its sample before. engine is an
 * index into the topology's engines; ns, of CLOCK_MONOTONIC, is the time of the sample.
 */
void lens_trace_engine_switch(const struct lens_dev *dev, u32 engine, u64 ns,
			      const struct lens_trace_occupant *from,
			      const struct lens_trace_occupant *to);

#endif /* _LENS_TRACE_H_ */
