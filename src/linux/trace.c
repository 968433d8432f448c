// SPDX-License-Identifier: GPL-2.0
/*
 * The module's trace events, which trace.h describes.
 */
#include "lens.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result)
{
	trace_control(dev->index, action, runlist, id, result);
}
