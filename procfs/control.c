// SPDX-License-Identifier: GPL-2.0
/*
 * The control files: each calls a control function of the core for the id written to it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "files.h"

/* A hold of the channel ends: it is as this request says. */
static int control_set_channel(struct lens_dev *dev, struct lens_file_request *r, bool enable)
{
	int err = lens_channel_enable(&dev->gpu, &r->ref, enable, &r->runlist);

	if (!err)
		lens_hold_drop(dev, r->runlist, r->ref.id);
	return err;
}

static int control_disable(struct lens_dev *dev, struct lens_file_request *r)
{
	return control_set_channel(dev, r, false);
}

static int control_enable(struct lens_dev *dev, struct lens_file_request *r)
{
	return control_set_channel(dev, r, true);
}

static int control_hold(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_hold_begin(dev, r->owner, &r->ref, r->value, &r->runlist);
}

static int control_preempt_tsg(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_tsg_preempt(&dev->gpu, &r->ref, &r->runlist);
}

static int control_switch_to(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_tsg_switch_to(&dev->gpu, &r->ref, &r->runlist);
}

static int control_set_timeslice(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_tsg_set_timeslice(&dev->gpu, &r->ref, r->value, &r->runlist);
}

/* The id of a runlist has no runlist before it. */
static int control_act_on_runlist(struct lens_dev *dev, struct lens_file_request *r,
				  int (*act)(struct lens_gpu *gpu, u32 id))
{
	if (r->ref.runlist != LENS_NONE)
		return -EINVAL;
	r->runlist = r->ref.id;
	return act(&dev->gpu, r->ref.id);
}

static int control_preempt(struct lens_dev *dev, struct lens_file_request *r)
{
	return control_act_on_runlist(dev, r, lens_runlist_preempt);
}

static int control_resubmit(struct lens_dev *dev, struct lens_file_request *r)
{
	return control_act_on_runlist(dev, r, lens_runlist_resubmit);
}

static int control_set_wfi(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_channel_set_preemption(&dev->gpu, &r->ref, LENS_PREEMPT_WFI, &r->runlist);
}

static int control_set_cta(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_channel_set_preemption(&dev->gpu, &r->ref, LENS_PREEMPT_CTA, &r->runlist);
}

static int control_set_cilp(struct lens_dev *dev, struct lens_file_request *r)
{
	return lens_channel_set_preemption(&dev->gpu, &r->ref, LENS_PREEMPT_CILP, &r->runlist);
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
	{ .name = "disable_channel", .access = LENS_ACCESS_CONTROL, .act = control_disable },
	{ .name = "enable_channel", .access = LENS_ACCESS_CONTROL, .act = control_enable },
	{ .name = "hold_channel", .access = LENS_ACCESS_CONTROL, .act = control_hold,
	  .form = LENS_FORM_HOLD },
	{ .name = "preempt_tsg", .access = LENS_ACCESS_CONTROL, .act = control_preempt_tsg },
	{ .name = "switch_to_tsg", .access = LENS_ACCESS_CONTROL, .act = control_switch_to },
	{ .name = "tsg_timeslice", .access = LENS_ACCESS_CONTROL, .act = control_set_timeslice,
	  .form = LENS_FORM_ID_VALUE },
	{ .name = "preempt_runlist", .access = LENS_ACCESS_CONTROL, .act = control_preempt },
	{ .name = "resubmit_runlist", .access = LENS_ACCESS_CONTROL, .act = control_resubmit },
	{ .name = "wfi_preempt_channel", .access = LENS_ACCESS_CONTROL, .act = control_set_wfi },
	{ .name = "cta_preempt_channel", .access = LENS_ACCESS_CONTROL, .act = control_set_cta },
	{ .name = "cil_preempt_channel", .access = LENS_ACCESS_CONTROL, .act = control_set_cilp },
};

const u32 lens_control_file_count = ARRAY_SIZE(lens_control_files);
