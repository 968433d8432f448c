// SPDX-License-Identifier: GPL-2.0
/*
 * Channels that are disabled for as long as a file is open, and for LENS_HOLD_MS at most. A worker
 * enables them again, so that it happens however the process ends, and whatever it was doing.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "lens.h"

/* Between attempts to end a hold, while the GPU is asleep or does not answer: doubles. */
#define HOLDS_RETRY_MS 20U
#define HOLDS_LAST_RETRY_MS 1000U

struct lens_hold {
	struct list_head link;
	const void *owner;	/* NULL: its file was closed */
	struct lens_ref channel;	/* runlist LENS_NONE: ids count for the whole GPU */
	unsigned long until;	/* jiffies */
	u32 round;		/* of lens_holds, in which it was tried last */
	unsigned int retry_ms;	/* after that attempt */
};

/* These are called with holds->lock held. */

static struct lens_hold *holds_find(struct lens_holds *holds, int runlist, u32 id)
{
	struct lens_hold *hold;

	list_for_each_entry(hold, &holds->list, link)
		if (hold->channel.runlist == runlist && hold->channel.id == id)
			return hold;
	return NULL;
}

static void holds_remove(struct lens_holds *holds, struct lens_hold *hold)
{
	list_del(&hold->link);
	holds->n--;
	kfree(hold);
}

static bool holds_is_due(const struct lens_hold *hold)
{
	return !hold->owner || time_after_eq(jiffies, hold->until);
}

/* Not after lens_holds_stop(). */
static void holds_run_soon(struct lens_dev *dev)
{
	if (!dev->holds.closed)
		mod_delayed_work(dev->wq, &dev->holds.work, 0);
}

/* -- beginning -- */

/*
 * Enter a hold of this channel before it is disabled, so that it ends whatever happens. Consumes
 * fresh.
 */
static int holds_enter(struct lens_dev *dev, struct lens_hold *fresh, bool enabled)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;
	int err = 0;

	spin_lock(&holds->lock);
	hold = holds_find(holds, fresh->channel.runlist, fresh->channel.id);
	if (hold && !hold->owner && !holds->closed) {
		/* Its file was closed, and it has yet to end: this file goes on with it. */
		holds_remove(holds, hold);
		hold = NULL;
		enabled = true;
	}
	if (holds->closed)
		err = -ENODEV;
	else if (hold)
		err = hold->owner == fresh->owner ? 0 : -EBUSY;
	else if (!enabled)
		err = -EALREADY;
	else if (holds->n == LENS_HOLDS_MAX)
		err = -ENOSPC;
	if (!err && !hold) {
		fresh->until = jiffies + msecs_to_jiffies(LENS_HOLD_MS);
		fresh->round = holds->round - 1;
		list_add_tail(&fresh->link, &holds->list);
		holds->n++;
		fresh = NULL;
		/* Earlier if it is due for another one already. */
		queue_delayed_work(dev->wq, &holds->work, msecs_to_jiffies(LENS_HOLD_MS));
	}
	spin_unlock(&holds->lock);
	kfree(fresh);
	return err;
}

/* Disabling failed: it may have reached the GPU all the same. */
static void holds_give_up(struct lens_dev *dev, const struct lens_ref *channel)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;

	spin_lock(&holds->lock);
	hold = holds_find(holds, channel->runlist, channel->id);
	if (hold)
		hold->owner = NULL;
	holds_run_soon(dev);
	spin_unlock(&holds->lock);
}

int lens_hold_begin(struct lens_dev *dev, const void *owner, const struct lens_ref *ref,
		    int *runlist)
{
	struct lens_ref channel = { .id = ref->id };
	struct lens_hold *hold;
	bool enabled;
	int err;

	lockdep_assert_held(&dev->control_lock);
	err = lens_channel_is_enabled(&dev->gpu, ref, &enabled, runlist);
	if (err)
		return err;
	channel.runlist = *runlist;
	hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	if (!hold)
		return -ENOMEM;
	hold->owner = owner;
	hold->channel = channel;
	err = holds_enter(dev, hold, enabled);
	if (err)
		return err;
	err = lens_channel_enable(&dev->gpu, &channel, false, runlist);
	if (err)
		holds_give_up(dev, &channel);
	return err;
}

void lens_hold_drop(struct lens_dev *dev, int runlist, u32 id)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;

	spin_lock(&holds->lock);
	hold = holds_find(holds, runlist, id);
	if (hold)
		holds_remove(holds, hold);
	spin_unlock(&holds->lock);
}

/* -- ending -- */

/* Enable the channel, unless another request has ended the hold or begun another one meanwhile. */
static int holds_end_channel(struct lens_dev *dev, const struct lens_ref *channel)
{
	struct lens_hold *hold;
	int err, runlist;
	bool due;

	err = lens_dev_begin_control(dev);
	if (err)
		return err;
	spin_lock(&dev->holds.lock);
	hold = holds_find(&dev->holds, channel->runlist, channel->id);
	due = hold && holds_is_due(hold);
	spin_unlock(&dev->holds.lock);
	if (due)
		err = lens_channel_enable(&dev->gpu, channel, true, &runlist);
	if (due && (!err || err == -ENOENT)) {
		lens_trace_control(dev, "end_hold", channel->runlist, channel->id, err);
		/* Under control_lock, so that it is still the same hold. */
		lens_hold_drop(dev, channel->runlist, channel->id);
		err = 0;
	}
	return lens_dev_end_control(dev, err);
}

static void holds_begin_round(struct lens_holds *holds)
{
	spin_lock(&holds->lock);
	holds->round++;
	spin_unlock(&holds->lock);
}

/* The next hold that is due and was not tried in this round. */
static bool holds_take_due(struct lens_holds *holds, struct lens_ref *channel)
{
	struct lens_hold *hold;
	bool found = false;

	spin_lock(&holds->lock);
	list_for_each_entry(hold, &holds->list, link) {
		if (hold->round == holds->round || !holds_is_due(hold))
			continue;
		hold->round = holds->round;
		hold->retry_ms = hold->retry_ms ? min(2 * hold->retry_ms, HOLDS_LAST_RETRY_MS) :
						  HOLDS_RETRY_MS;
		*channel = hold->channel;
		found = true;
		break;
	}
	spin_unlock(&holds->lock);
	return found;
}

static void holds_report_failure(const struct lens_dev *dev, const struct lens_ref *channel,
				 int err)
{
	/* Nothing runs on a GPU that is asleep. */
	if (err == -ENODATA || err == -ENODEV)
		return;
	pr_warn_ratelimited("gpu%d: channel %u of runlist %d stays disabled: error %d; will retry\n",
			    dev->index, channel->id, channel->runlist, err);
}

/* When the next hold is due; 0: there is none. Those that are due already wait for least. */
static unsigned long holds_get_delay(struct lens_holds *holds, unsigned long least)
{
	unsigned long delay = 0, left;
	struct lens_hold *hold;

	spin_lock(&holds->lock);
	list_for_each_entry(hold, &holds->list, link) {
		left = holds_is_due(hold) ? max(msecs_to_jiffies(hold->retry_ms), least) :
					    hold->until - jiffies;
		left = max(left, 1UL);
		delay = delay ? min(delay, left) : left;
	}
	spin_unlock(&holds->lock);
	return delay;
}

static void holds_run(struct work_struct *work)
{
	struct lens_holds *holds = container_of(to_delayed_work(work), struct lens_holds, work);
	struct lens_dev *dev = container_of(holds, struct lens_dev, holds);
	unsigned long began = jiffies, delay;
	struct lens_ref channel;
	int err;

	holds_begin_round(holds);
	while (holds_take_due(holds, &channel)) {
		err = holds_end_channel(dev, &channel);
		if (err)
			holds_report_failure(dev, &channel, err);
	}
	/* A GPU that does not answer is left to others for as long as the attempts took. */
	delay = holds_get_delay(holds, jiffies - began);
	if (delay)
		queue_delayed_work(dev->wq, &holds->work, delay);
}

void lens_holds_end_owner(struct lens_dev *dev, const void *owner)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;
	bool any = false;

	spin_lock(&holds->lock);
	list_for_each_entry(hold, &holds->list, link) {
		if (hold->owner != owner)
			continue;
		hold->owner = NULL;
		any = true;
	}
	if (any)
		holds_run_soon(dev);
	spin_unlock(&holds->lock);
}

void lens_holds_end_all(struct lens_dev *dev)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;
	bool any;

	spin_lock(&holds->lock);
	holds->closed = true;
	list_for_each_entry(hold, &holds->list, link)
		hold->owner = NULL;
	any = !list_empty(&holds->list);
	spin_unlock(&holds->lock);
	if (!any)
		return;
	mod_delayed_work(dev->wq, &holds->work, 0);
	flush_delayed_work(&holds->work);
}

void lens_holds_stop(struct lens_dev *dev)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold, *next;

	spin_lock(&holds->lock);
	holds->closed = true;
	spin_unlock(&holds->lock);
	cancel_delayed_work_sync(&holds->work);
	spin_lock(&holds->lock);
	list_for_each_entry_safe(hold, next, &holds->list, link)
		holds_remove(holds, hold);
	spin_unlock(&holds->lock);
}

void lens_holds_init(struct lens_dev *dev)
{
	spin_lock_init(&dev->holds.lock);
	INIT_LIST_HEAD(&dev->holds.list);
	INIT_DELAYED_WORK(&dev->holds.work, holds_run);
}
