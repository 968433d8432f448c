// SPDX-License-Identifier: GPL-2.0
/*
 * Instances of the trace events of trace.h.
 */
#include "lens.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result)
{
	trace_control(dev->index, action, runlist, id, result);
}
