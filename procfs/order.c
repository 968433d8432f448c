// SPDX-License-Identifier: GPL-2.0
/*
 * The file order_runlist: RUNLIST TSG [TSG...] has the TSGs of a runlist scheduled in this order
 * until the file is closed (src/linux/orders.c).
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../src/linux/compat/compat.h"
#include "files.h"
#include "parse.h"

static int order_parse(const char __user *buf, size_t count, struct lens_order *order)
{
	char *text;
	int err;

	if (!count || count > LENS_ORDER_TEXT_MAX + 1)
		return -EINVAL;
	text = memdup_user(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = lens_parse_order(text, count, order);
	kfree(text);
	return err;
}

/* Within a control request. */
static int order_begin(struct lens_dev *dev, const void *owner, const struct lens_order *order)
{
	struct lens_runlist_snap snap = { };
	int err;

	if (!lens_gpu_has_host(&dev->gpu) || !dev->gpu.chip->host->submit)
		return -EOPNOTSUPP;
	err = lens_runlist_find(&dev->gpu, order->runlist, &snap.rl);
	if (err)
		return err;
	err = lens_snap_fill(&dev->gpu, &snap, false);
	if (!err)
		err = lens_order_begin(dev, owner, &snap, order);
	lens_snap_free(&snap);
	return err;
}

static int order_run_request(struct file *file, struct lens_file *f, const char __user *buf,
			     size_t count, struct lens_order *order)
{
	int err = lens_may_control(file);

	if (!err)
		err = order_parse(buf, count, order);
	if (!err)
		err = lens_dev_begin_control(f->dev);
	if (err)
		return err;
	return lens_dev_end_control(f->dev, order_begin(f->dev, file, order));
}

static ssize_t order_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file *f = pde_data(file_inode(file));
	struct lens_order *order;
	int err;

	order = kzalloc(sizeof(*order), GFP_KERNEL_ACCOUNT);
	if (!order)
		return -ENOMEM;
	order->runlist = LENS_NONE;
	err = order_run_request(file, f, buf, count, order);
	lens_trace_control(f->dev, f->type->name, order->runlist, -1, err);
	lens_stats_count_call(f, err);
	kfree(order);
	return err ? err : count;
}

static int order_release(struct inode *inode, struct file *file)
{
	struct lens_file *f = pde_data(inode);

	lens_orders_end_owner(f->dev, file);
	return 0;
}

const struct proc_ops lens_order_ops = {
	.proc_write = order_write,
	.proc_lseek = noop_llseek,
	.proc_release = order_release,
};
