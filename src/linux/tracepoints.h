/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trace events. gpulens:gpulens_control records every write to a control file, for audits.
 * gpulens:gpulens_engine_switch records that a sampler found another occupant on an engine.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpulens

#if !defined(_LENS_TRACEPOINTS_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _LENS_TRACEPOINTS_H_

#include <linux/sched.h>
#include <linux/tracepoint.h>

#include "device.h"

static_assert(LENS_ENGINE_NAME == 48);

TRACE_EVENT(gpulens_control,
	TP_PROTO(int gpu, const char *action, int runlist, s64 id, int result),
	TP_ARGS(gpu, action, runlist, id, result),
	TP_STRUCT__entry(
		__field(int, gpu)
		__array(char, action, 24)
		__field(int, runlist)
		__field(s64, id)
		__field(pid_t, pid)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->gpu = gpu;
		strscpy(__entry->action, action, sizeof(__entry->action));
		__entry->runlist = runlist;
		__entry->id = id;
		__entry->pid = current->pid;
		__entry->result = result;
	),
	TP_printk("gpu=%d action=%s runlist=%d id=%lld pid=%d result=%d",
		  __entry->gpu, __entry->action, __entry->runlist, __entry->id,
		  __entry->pid, __entry->result)
);

/* -1: no TSG, or no channel that is known; -2: the status was not readable, or not read before. */
TRACE_EVENT(gpulens_engine_switch,
	TP_PROTO(const struct lens_dev *dev, const struct lens_engine *engine, u64 time_ns,
		 const struct lens_trace_occupant *from, const struct lens_trace_occupant *to),
	TP_ARGS(dev, engine, time_ns, from, to),
	TP_STRUCT__entry(
		__field(int, gpu)
		__field(int, runlist)
		/* The kernel shows this size as it is written here: trace-cmd needs a number. */
		__array(char, engine, 48)
		__field(int, from_tsg)
		__field(int, from_channel)
		__field(int, to_tsg)
		__field(int, to_channel)
		__field(u64, time_ns)
	),
	TP_fast_assign(
		__entry->gpu = dev->index;
		__entry->runlist = engine->runlist;
		lens_engine_format_name(&dev->gpu, engine, __entry->engine);
		__entry->from_tsg = from->tsg;
		__entry->from_channel = from->channel;
		__entry->to_tsg = to->tsg;
		__entry->to_channel = to->channel;
		__entry->time_ns = time_ns;
	),
	TP_printk("gpu=%d runlist=%d from_tsg=%d from_channel=%d to_tsg=%d to_channel=%d time_ns=%llu engine=%s",
		  __entry->gpu, __entry->runlist, __entry->from_tsg, __entry->from_channel,
		  __entry->to_tsg, __entry->to_channel, __entry->time_ns, __entry->engine)
);

#endif /* _LENS_TRACEPOINTS_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE tracepoints
#include <trace/define_trace.h>
