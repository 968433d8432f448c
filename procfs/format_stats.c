// SPDX-License-Identifier: GPL-2.0
/*
 * The text of stats: a name and a number per line, as in /proc/vmstat. The names are documented in
 * docs/proc.md and do not change.
 */
#include "format.h"

static void format_stats_line(struct lens_text *t, const char *name, u64 n)
{
	lens_text_add(t, "%s %llu\n", name, (unsigned long long)n);
}

void lens_format_calls(struct lens_text *t, bool writes, const char *name, u64 calls, u64 failed)
{
	const char *hole = strstr(name, "%u");
	int before = hole ? (int)(hole - name) : (int)strlen(name);
	const char *verb = writes ? "write" : "read";

	/* Without the %u: runlist, gpc_tpc_mask. */
	lens_text_add(t, "%s_%.*s%s %llu\n", verb, before, name, hole ? hole + 2 : "",
		      (unsigned long long)calls);
	lens_text_add(t, "%s_%.*s%s_failed %llu\n", verb, before, name, hole ? hole + 2 : "",
		      (unsigned long long)failed);
}

void lens_format_ticks(struct lens_text *t, u64 ticks, u64 lost)
{
	format_stats_line(t, "sample_ticks", ticks);
	format_stats_line(t, "sample_ticks_lost", lost);
}

void lens_format_cost(struct lens_text *t, const struct lens_cost *cost)
{
	format_stats_line(t, "bar0_read32", cost->rd32);
	format_stats_line(t, "bar0_write32", cost->wr32);
	format_stats_line(t, "bar0_read64", cost->rd64);
	format_stats_line(t, "system_words", cost->sys64);
	format_stats_line(t, "window_borrows", cost->windows);
	format_stats_line(t, "window_stops", cost->stops);
	format_stats_line(t, "window_stopped_ns", cost->stopped_ns);
	format_stats_line(t, "window_longest_stop_ns", cost->longest_stop_ns);
	format_stats_line(t, "enable_resubmits", cost->resubmits);
}
