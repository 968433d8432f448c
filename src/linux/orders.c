// SPDX-License-Identifier: GPL-2.0
/*
 * Runlists whose TSGs are in an order that an open file asks for. The list that the driver has
 * submitted is submitted again when the file is closed, unless the driver has submitted another.
 *
 * The entries are in system memory, which a driver that is bound has made the GPU's to read. It is
 * freed only after the GPU's registers show that it has committed another list.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../../include/hw/fifo.h"
#include "lens.h"

/* Between attempts to end an order, while the GPU is asleep or does not answer: doubles. */
#define ORDERS_RETRY_MS 20U
#define ORDERS_LAST_RETRY_MS 1000U
/* Room for the entries of a list. */
#define ORDERS_BYTES 65536U

/* The list is changed with control_lock and orders->lock held; owner with orders->lock. */
struct lens_ordered {
	struct list_head link;
	const void *owner;	/* NULL: its file was closed, or another order replaced it */
	const struct lens_runlist *rl;
	struct lens_runlist_regs before, after;	/* the driver's list, and this one */
	void *entries;
	size_t bytes;
	dma_addr_t bus;
	u32 round;		/* of lens_orders, in which its end was tried last */
	unsigned int retry_ms;	/* after that attempt */
};

static void orders_free(struct lens_dev *dev, struct lens_ordered *o)
{
	if (o->bus)
		lens_sysmem_unmap(dev, o->bus, o->bytes);
	if (o->entries)
		free_pages_exact(o->entries, o->bytes);
	kfree(o);
}

/* Not after lens_orders_stop(). */
static void orders_run_soon(struct lens_orders *orders)
{
	if (!orders->closed)
		mod_delayed_work(container_of(orders, struct lens_dev, orders)->wq, &orders->work, 0);
}

/* -- beginning; within a control request -- */

/* The order that has an owner, of which a runlist has one at most. */
static struct lens_ordered *orders_find(struct lens_orders *orders, const struct lens_runlist *rl)
{
	struct lens_ordered *o;

	list_for_each_entry(o, &orders->list, link)
		if (o->rl == rl && o->owner)
			return o;
	return NULL;
}

/* The driver's list, where the one in the registers is that of an earlier order. */
static const struct lens_runlist_regs *orders_find_before(struct lens_orders *orders,
							  const struct lens_runlist *rl,
							  const struct lens_runlist_regs *regs)
{
	struct lens_ordered *o;

	list_for_each_entry(o, &orders->list, link)
		if (o->rl == rl && lens_regs_are_equal(&o->after, regs))
			return &o->before;
	return regs;
}

static int orders_check_owner(struct lens_orders *orders, const struct lens_runlist *rl,
			      const void *owner)
{
	struct lens_ordered *o;
	int err = 0;

	spin_lock(&orders->lock);
	o = orders_find(orders, rl);
	if (orders->closed)
		err = -ENODEV;
	else if (o && o->owner != owner)
		err = -EBUSY;
	else if (orders->n >= LENS_ORDERS_MAX)
		err = -ENOSPC;
	spin_unlock(&orders->lock);
	return err;
}

/* Memory that the GPU can read, with the entries in this order. */
static int orders_arrange(struct lens_dev *dev, struct lens_ordered *o,
			  const struct lens_runlist_snap *snap, const struct lens_order *order)
{
	struct lens_gpu *gpu = &dev->gpu;
	u32 bytes = gpu->chip->entry_words * 4, n;
	int err;

	if (snap->torn || snap->regs.pending)
		return -EBUSY;
	if (!snap->regs.base)
		return -ENOENT;
	if (snap->n > ORDERS_BYTES / bytes)
		return -ENOSPC;
	o->bytes = ORDERS_BYTES;
	o->entries = alloc_pages_exact(o->bytes, lens_sysmem_get_zone(dev) | GFP_KERNEL_ACCOUNT |
						 __GFP_ZERO | __GFP_NOWARN);
	if (!o->entries)
		return -ENOMEM;
	err = lens_order_arrange(gpu, snap, order, o->entries, ORDERS_BYTES / bytes, &n);
	if (err)
		return err;
	err = lens_sysmem_map(dev, o->entries, o->bytes, &o->bus);
	if (err)
		return err;
	o->after = (struct lens_runlist_regs){
		.base = o->bus,
		.target = NV_PFIFO_RUNLIST_BASE_TARGET_SYS_MEM_COHERENT,
		.length = n,
	};
	return 0;
}

static void orders_enter(struct lens_orders *orders, struct lens_ordered *o)
{
	spin_lock(&orders->lock);
	o->round = orders->round - 1;
	list_add_tail(&o->link, &orders->list);
	orders->n++;
	spin_unlock(&orders->lock);
}

/* The order with this owner is another one now: its memory is freed by the worker. */
static void orders_disown(struct lens_orders *orders, struct lens_ordered *o)
{
	spin_lock(&orders->lock);
	o->owner = NULL;
	orders_run_soon(orders);
	spin_unlock(&orders->lock);
}

static int orders_submit(struct lens_dev *dev, struct lens_ordered *o,
			 const struct lens_runlist_snap *snap)
{
	struct lens_orders *orders = &dev->orders;
	struct lens_ordered *old = orders_find(orders, o->rl);
	int err;

	o->before = *orders_find_before(orders, o->rl, &snap->regs);
	/* First: whatever happens to the request, the worker ends it. */
	orders_enter(orders, o);
	err = lens_runlist_submit(&dev->gpu, o->rl, &snap->regs, &o->after);
	if (err)
		orders_disown(orders, o);
	else if (old)
		orders_disown(orders, old);
	return err;
}

int lens_order_begin(struct lens_dev *dev, const void *owner, const struct lens_runlist_snap *snap,
		     const struct lens_order *order)
{
	struct lens_ordered *o;
	int err;

	lockdep_assert_held(&dev->control_lock);
	err = orders_check_owner(&dev->orders, snap->rl, owner);
	if (err)
		return err;
	o = kzalloc(sizeof(*o), GFP_KERNEL_ACCOUNT);
	if (!o)
		return -ENOMEM;
	o->owner = owner;
	o->rl = snap->rl;
	err = orders_arrange(dev, o, snap, order);
	if (!err)
		return orders_submit(dev, o, snap);
	orders_free(dev, o);
	return err;
}

/* -- ending -- */

/* Submit the driver's list again if the GPU has this one. 0: the GPU has another list. */
static int orders_restore(struct lens_dev *dev, struct lens_ordered *o)
{
	struct lens_runlist_regs now;
	int err;

	err = lens_runlist_read_regs(&dev->gpu, o->rl, &now);
	if (err)
		return err;
	if (now.pending)
		return -EBUSY;
	if (!lens_regs_are_equal(&now, &o->after))
		return 0;
	err = lens_runlist_submit(&dev->gpu, o->rl, &o->after, &o->before);
	lens_trace_control(dev, "end_order", o->rl->id, -1, err);
	return err;
}

static int orders_end(struct lens_dev *dev, struct lens_ordered *o)
{
	int err = lens_dev_begin_control(dev);

	if (err)
		return err;
	err = orders_restore(dev, o);
	if (!err) {
		spin_lock(&dev->orders.lock);
		list_del(&o->link);
		dev->orders.n--;
		spin_unlock(&dev->orders.lock);
		orders_free(dev, o);
	}
	return lens_dev_end_control(dev, err);
}

/* The next order without an owner whose end was not tried in this round. Only the worker ends. */
static struct lens_ordered *orders_take(struct lens_orders *orders)
{
	struct lens_ordered *o, *found = NULL;

	spin_lock(&orders->lock);
	list_for_each_entry(o, &orders->list, link) {
		if (o->owner || o->round == orders->round)
			continue;
		o->round = orders->round;
		o->retry_ms = o->retry_ms ? min(2 * o->retry_ms, ORDERS_LAST_RETRY_MS) :
					    ORDERS_RETRY_MS;
		found = o;
		break;
	}
	spin_unlock(&orders->lock);
	return found;
}

/* When an end is to be tried again; 0: none. */
static unsigned long orders_get_delay(struct lens_orders *orders)
{
	unsigned long delay = 0, left;
	struct lens_ordered *o;

	spin_lock(&orders->lock);
	list_for_each_entry(o, &orders->list, link) {
		if (o->owner)
			continue;
		left = max(msecs_to_jiffies(o->retry_ms), 1UL);
		delay = delay ? min(delay, left) : left;
	}
	spin_unlock(&orders->lock);
	return delay;
}

static void orders_run(struct work_struct *work)
{
	struct lens_orders *orders = container_of(to_delayed_work(work), struct lens_orders, work);
	struct lens_dev *dev = container_of(orders, struct lens_dev, orders);
	struct lens_ordered *o;
	unsigned long delay;
	int err;

	spin_lock(&orders->lock);
	orders->round++;
	spin_unlock(&orders->lock);
	while ((o = orders_take(orders))) {
		int runlist = o->rl->id;

		err = orders_end(dev, o);
		/* Nothing runs on a GPU that is asleep. */
		if (err && err != -ENODATA && err != -ENODEV)
			pr_warn_ratelimited("gpu%d: runlist %d keeps its order: error %d; will retry\n",
					    dev->index, runlist, err);
	}
	delay = orders_get_delay(orders);
	if (delay)
		queue_delayed_work(dev->wq, &orders->work, delay);
}

/* owner NULL: of all. */
static void orders_disown_all(struct lens_orders *orders, const void *owner)
{
	struct lens_ordered *o;
	bool any = false;

	list_for_each_entry(o, &orders->list, link) {
		if (!o->owner || (owner && o->owner != owner))
			continue;
		o->owner = NULL;
		any = true;
	}
	if (any)
		orders_run_soon(orders);
}

void lens_orders_end_owner(struct lens_dev *dev, const void *owner)
{
	spin_lock(&dev->orders.lock);
	orders_disown_all(&dev->orders, owner);
	spin_unlock(&dev->orders.lock);
}

void lens_orders_end_all(struct lens_dev *dev, bool last)
{
	struct lens_orders *orders = &dev->orders;
	bool any;

	/*
	 * A request that has mapped memory has it on the list when it ends. A later one maps none:
	 * no order begins any more, or the device's lock is held until its driver is unbound.
	 */
	mutex_lock(&dev->control_lock);
	spin_lock(&orders->lock);
	orders->closed |= last;
	orders_disown_all(orders, NULL);
	any = !list_empty(&orders->list);
	spin_unlock(&orders->lock);
	mutex_unlock(&dev->control_lock);
	if (!any)
		return;
	mod_delayed_work(dev->wq, &orders->work, 0);
	flush_delayed_work(&orders->work);
}

void lens_orders_stop(struct lens_dev *dev)
{
	struct lens_orders *orders = &dev->orders;
	struct lens_ordered *o, *next;

	spin_lock(&orders->lock);
	orders->closed = true;
	spin_unlock(&orders->lock);
	cancel_delayed_work_sync(&orders->work);
	spin_lock(&orders->lock);
	list_for_each_entry_safe(o, next, &orders->list, link) {
		list_del(&o->link);
		orders->n--;
		/* The GPU may still read it. */
		pr_warn("gpu%d: %zu bytes stay allocated: runlist %d may be in them\n", dev->index,
			o->bytes, o->rl->id);
		kfree(o);
	}
	spin_unlock(&orders->lock);
}

void lens_orders_init(struct lens_dev *dev)
{
	spin_lock_init(&dev->orders.lock);
	INIT_LIST_HEAD(&dev->orders.list);
	INIT_DELAYED_WORK(&dev->orders.work, orders_run);
}
