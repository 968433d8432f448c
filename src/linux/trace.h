/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events. gpulens:control records every write to a control file, for audits.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpulens

#if !defined(_LENS_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _LENS_TRACE_H_

#include <linux/sched.h>
#include <linux/tracepoint.h>

TRACE_EVENT(control,
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

#endif /* _LENS_TRACE_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
