// SPDX-License-Identifier: GPL-2.0
/*
 * Instances of the trace events of tracepoints.h.
 */
#include "device.h"

#define CREATE_TRACE_POINTS
#include "tracepoints.h"

void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result)
{
	trace_gpulens_control(dev->index, action, runlist, id, result);
}

void lens_trace_engine_switch(const struct lens_dev *dev, u32 engine, u64 ns,
			      const struct lens_trace_occupant *from,
			      const struct lens_trace_occupant *to)
{
	trace_gpulens_engine_switch(dev, &dev->gpu.topo.engines[engine], ns, from, to);
}
