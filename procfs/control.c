// SPDX-License-Identifier: GPL-2.0
/*
 * The control files: each calls a control function of the core for the id written to it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "files.h"

static int control_disable(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	return lens_channel_enable(gpu, ref, false, runlist);
}

static int control_enable(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	return lens_channel_enable(gpu, ref, true, runlist);
}

/* The id of a runlist has no runlist before it. */
static int control_preempt(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	if (ref->runlist != LENS_NONE)
		return -EINVAL;
	*runlist = ref->id;
	return lens_runlist_preempt(gpu, ref->id);
}

static int control_resubmit(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	if (ref->runlist != LENS_NONE)
		return -EINVAL;
	*runlist = ref->id;
	return lens_runlist_resubmit(gpu, ref->id);
}

static int control_set_wfi(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	return lens_channel_set_preemption(gpu, ref, LENS_PREEMPT_WFI, runlist);
}

static int control_set_cta(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	return lens_channel_set_preemption(gpu, ref, LENS_PREEMPT_CTA, runlist);
}

static int control_set_cilp(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	return lens_channel_set_preemption(gpu, ref, LENS_PREEMPT_CILP, runlist);
}

void lens_control_report_holders(const struct lens_file *f, u32 id)
{
	const struct lens_gpu *gpu = &f->dev->gpu;
	char list[LENS_MAX_RUNLISTS * 6];	/* a space and at most 5 digits each */
	int len = 0;
	u32 i;

	/* One holder: the id is valid, something else was not. */
	if (hweight64(gpu->holders) == 1)
		return;
	list[0] = '\0';
	for (i = 0; i < gpu->topo.n_runlists; i++)
		if (gpu->holders >> i & 1)
			len += scnprintf(list + len, sizeof(list) - len, " %u",
					 gpu->topo.runlists[i].id);
	pr_info_ratelimited("gpu%d %s: %u is on %s%s; write RUNLIST:ID\n",
			    f->dev->index, f->type->name, id,
			    len ? "more than one runlist:" : "no runlist", list);
}

const struct lens_file_type lens_control_files[] = {
	{ .name = "disable_channel", .access = LENS_ACCESS_CONTROL, .act = control_disable,
	  .sets_channel = true },
	{ .name = "enable_channel", .access = LENS_ACCESS_CONTROL, .act = control_enable,
	  .sets_channel = true },
	{ .name = "hold_channel", .access = LENS_ACCESS_CONTROL, .act_for = lens_hold_begin },
	{ .name = "preempt_tsg", .access = LENS_ACCESS_CONTROL, .act = lens_tsg_preempt },
	{ .name = "switch_to_tsg", .access = LENS_ACCESS_CONTROL, .act = lens_tsg_switch_to },
	{ .name = "tsg_timeslice", .access = LENS_ACCESS_CONTROL,
	  .act_with = lens_tsg_set_timeslice },
	{ .name = "preempt_runlist", .access = LENS_ACCESS_CONTROL, .act = control_preempt },
	{ .name = "resubmit_runlist", .access = LENS_ACCESS_CONTROL, .act = control_resubmit },
	{ .name = "wfi_preempt_channel", .access = LENS_ACCESS_CONTROL, .act = control_set_wfi },
	{ .name = "cta_preempt_channel", .access = LENS_ACCESS_CONTROL, .act = control_set_cta },
	{ .name = "cil_preempt_channel", .access = LENS_ACCESS_CONTROL, .act = control_set_cilp },
};

const u32 lens_control_file_count = ARRAY_SIZE(lens_control_files);
