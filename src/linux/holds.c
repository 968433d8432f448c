// SPDX-License-Identifier: GPL-2.0
/*
 * Holds: channels that are disabled while a file is open, for a limited time. Nothing else of the
 * module ends by itself. A hold ends, with its channel enabled, when
 *	- a request disables or enables the channel, whose effect stays (lens_hold_drop())
 *	- the last descriptor of its file is closed (lens_holds_end_owner()), or its time is over
 *	- the machine is about to sleep, the GPU's driver is being unbound, the GPU is being removed
 *	  or given to a guest, or the module is being unloaded (lens_holds_end_all())
 * A worker tries again until the GPU answers. After the driver has gone, nothing is written: what
 * could not be ended before is dropped, and the log says so. So it is where the id has another
 * instance block by now, or none: drivers use ids again, and that channel is somebody else's.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "device.h"
#include "devices.h"

/* Between attempts to end holds, while the GPU is asleep or does not answer: doubles. */
#define HOLDS_RETRY_MS 20U
#define HOLDS_LAST_RETRY_MS 1000U
/* Time limit of an attempt: the accesses of LENS_HOLDS_MAX holds, of 5 ms each. */
#define HOLDS_PASS_MS 2000

/* The list is changed with control_lock and holds->lock held, the rest with holds->lock. */
struct lens_hold {
	struct list_head link;
	const void *owner;	/* the open file; NULL: it is to end */
	struct lens_channel channel;
	int runlist;		/* LENS_NONE: ids count for the whole GPU */
	unsigned long until;	/* jiffies */
};

static struct lens_hold *holds_find(struct lens_holds *holds, int runlist, u32 id)
{
	struct lens_hold *hold;

	lockdep_assert_held(&holds->lock);
	list_for_each_entry(hold, &holds->list, link)
		if (hold->runlist == runlist && hold->channel.id == id)
			return hold;
	return NULL;
}

static void holds_remove(struct lens_dev *dev, struct lens_hold *hold)
{
	lockdep_assert_held(&dev->control_lock);
	lockdep_assert_held(&dev->holds.lock);
	list_del(&hold->link);
	dev->holds.n--;
	kfree(hold);
}

static bool holds_is_due(const struct lens_hold *hold)
{
	return !hold->owner || time_after_eq(jiffies, hold->until);
}

/* When the next hold is due; 0: there is none. Those that are due already wait for least. */
static unsigned long holds_get_delay(const struct lens_holds *holds, unsigned long least)
{
	unsigned long delay = 0, left;
	const struct lens_hold *hold;

	lockdep_assert_held(&holds->lock);
	list_for_each_entry(hold, &holds->list, link) {
		left = holds_is_due(hold) ? least : hold->until - jiffies;
		left = max(left, 1UL);
		delay = delay ? min(delay, left) : left;
	}
	return delay;
}

static void holds_schedule(struct lens_dev *dev)
{
	struct lens_holds *holds = &dev->holds;
	unsigned long delay = holds_get_delay(holds, 0);

	if (delay && !(holds->refused & LENS_HOLDS_GONE))
		mod_delayed_work(dev->wq, &holds->work, delay);
}

/* -- beginning -- */

static bool holds_is_same(const struct lens_channel *a, const struct lens_channel *b)
{
	return a->inst == b->inst && a->inst_target == b->inst_target;
}

static void holds_report_drop(const struct lens_dev *dev, const struct lens_hold *hold,
			      const char *why)
{
	pr_warn("gpu%d: channel %u of runlist %d was held and is not enabled: %s\n", dev->index,
		hold->channel.id, hold->runlist, why);
}

/* Is a hold of this channel allowed? *old: the one that there is, which goes on. */
static int holds_check(struct lens_dev *dev, const struct lens_hold *fresh, bool enabled,
		       struct lens_hold **old)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold = holds_find(holds, fresh->runlist, fresh->channel.id);

	if (hold && !holds_is_same(&hold->channel, &fresh->channel)) {
		holds_report_drop(dev, hold, "it is another channel by now");
		holds_remove(dev, hold);
		hold = NULL;
	}
	*old = hold;
	if (holds->refused)
		return holds->refused & LENS_HOLDS_GONE ? -ENODEV : -EBUSY;
	if (hold)
		return hold->owner && hold->owner != fresh->owner ? -EBUSY : 0;
	if (!enabled)
		return -EALREADY;
	return holds->n == LENS_HOLDS_MAX ? -ENOSPC : 0;
}

/*
 * Enter a hold before its channel is disabled, so that it ends whatever happens. fresh is freed,
 * or kept as the hold. renewed: a hold of this file that there is ends as fresh does.
 */
static struct lens_hold *holds_enter(struct lens_dev *dev, struct lens_hold *fresh, bool enabled,
				     bool renewed)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;
	int err;

	spin_lock(&holds->lock);
	err = holds_check(dev, fresh, enabled, &hold);
	if (!err && !hold) {
		list_add_tail(&fresh->link, &holds->list);
		holds->n++;
		hold = fresh;
		fresh = NULL;
	} else if (!err) {
		/* Where it was to end, this file goes on with it. */
		if (renewed || !hold->owner)
			hold->until = fresh->until;
		hold->owner = fresh->owner;
	}
	holds_schedule(dev);
	spin_unlock(&holds->lock);
	kfree(fresh);
	return err ? ERR_PTR(err) : hold;
}

int lens_hold_begin(struct lens_dev *dev, const void *owner, const struct lens_ref *ref, u32 ms,
		    int *runlist)
{
	struct lens_hold *hold;
	bool enabled;
	int err;

	lockdep_assert_held(&dev->control_lock);
	hold = kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT);
	if (!hold)
		return -ENOMEM;
	err = lens_channel_find(&dev->gpu, ref, &hold->channel, &enabled, runlist);
	if (err) {
		kfree(hold);
		return err;
	}
	hold->owner = owner;
	hold->runlist = *runlist;
	hold->until = jiffies + msecs_to_jiffies(ms ? ms : LENS_HOLD_MS);
	hold = holds_enter(dev, hold, enabled, ms);
	if (IS_ERR(hold))
		return PTR_ERR(hold);
	err = lens_channel_enable_same(&dev->gpu, &hold->channel, false);
	if (err) {
		/* It may have reached the GPU all the same. */
		spin_lock(&dev->holds.lock);
		hold->owner = NULL;
		holds_schedule(dev);
		spin_unlock(&dev->holds.lock);
	}
	return err;
}

int lens_holds_renew(struct lens_dev *dev, const void *owner, u32 ms)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;
	int err = -ENOENT;

	spin_lock(&holds->lock);
	list_for_each_entry(hold, &holds->list, link) {
		if (hold->owner != owner || holds_is_due(hold))
			continue;
		hold->until = jiffies + msecs_to_jiffies(ms);
		err = 0;
	}
	holds_schedule(dev);
	spin_unlock(&holds->lock);
	return err;
}

void lens_hold_drop(struct lens_dev *dev, int runlist, u32 id)
{
	struct lens_holds *holds = &dev->holds;
	struct lens_hold *hold;

	spin_lock(&holds->lock);
	hold = holds_find(holds, runlist, id);
	if (hold)
		holds_remove(dev, hold);
	spin_unlock(&holds->lock);
}

/* -- ending -- */

/* From now on the hold is nobody's, so that no write renews it. */
static bool holds_take(struct lens_holds *holds, struct lens_hold *hold)
{
	bool due;

	spin_lock(&holds->lock);
	due = holds_is_due(hold);
	if (due)
		hold->owner = NULL;
	spin_unlock(&holds->lock);
	return due;
}

static int holds_end_one(struct lens_dev *dev, struct lens_hold *hold)
{
	int err = lens_channel_enable_same(&dev->gpu, &hold->channel, true);

	if (err && err != -ENOENT && err != -ESTALE)
		return err;
	lens_trace_control(dev, "end_hold", hold->runlist, hold->channel.id, err);
	if (err)
		holds_report_drop(dev, hold, err == -ESTALE ? "it is another channel by now" :
							      "it is there no more");
	spin_lock(&dev->holds.lock);
	holds_remove(dev, hold);
	spin_unlock(&dev->holds.lock);
	return 0;
}

/* In one use of the GPU. After an error, holds are left that are due. */
static int holds_end_due(struct lens_dev *dev, bool device_locked)
{
	struct lens_hold *hold, *next;
	int result, err;

	err = lens_dev_begin_ending(dev, HOLDS_PASS_MS, device_locked);
	if (err)
		return err;
	list_for_each_entry_safe(hold, next, &dev->holds.list, link) {
		result = holds_take(&dev->holds, hold) ? holds_end_one(dev, hold) : 0;
		err = err ? err : result;
	}
	return lens_dev_end_control(dev, err);
}

static bool holds_any_due(struct lens_holds *holds)
{
	struct lens_hold *hold;
	bool due = false;

	spin_lock(&holds->lock);
	list_for_each_entry(hold, &holds->list, link)
		due |= holds_is_due(hold);
	spin_unlock(&holds->lock);
	return due;
}

static void holds_run(struct work_struct *work)
{
	struct lens_holds *holds = container_of(to_delayed_work(work), struct lens_holds, work);
	struct lens_dev *dev = container_of(holds, struct lens_dev, holds);
	unsigned long began = jiffies, delay;
	int err = 0;

	if (holds_any_due(holds))
		err = holds_end_due(dev, false);
	/* Nothing runs on a GPU that is asleep; the first error may pass. */
	if (err && err != -ENODATA && err != -ENODEV && holds->retry_ms)
		pr_warn_ratelimited("gpu%d: held channels stay disabled: error %d; will retry\n",
				    dev->index, err);
	spin_lock(&holds->lock);
	holds->retry_ms = err ? clamp(2 * holds->retry_ms, HOLDS_RETRY_MS, HOLDS_LAST_RETRY_MS) : 0;
	/* A GPU that does not answer is left to others for as long as the attempt took. */
	delay = holds_get_delay(holds, max(msecs_to_jiffies(holds->retry_ms), jiffies - began));
	if (delay && !(holds->refused & LENS_HOLDS_GONE))
		queue_delayed_work(dev->wq, &holds->work, delay);
	spin_unlock(&holds->lock);
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
		holds_schedule(dev);
	spin_unlock(&holds->lock);
}

static bool holds_disown_all(struct lens_holds *holds, u8 why)
{
	struct lens_hold *hold;
	bool any;

	spin_lock(&holds->lock);
	holds->refused |= why;
	list_for_each_entry(hold, &holds->list, link)
		hold->owner = NULL;
	any = !list_empty(&holds->list);
	spin_unlock(&holds->lock);
	return any;
}

static void holds_drop_all(struct lens_dev *dev)
{
	struct lens_hold *hold, *next;

	mutex_lock(&dev->control_lock);
	spin_lock(&dev->holds.lock);
	list_for_each_entry_safe(hold, next, &dev->holds.list, link) {
		holds_report_drop(dev, hold, "the GPU does not answer");
		holds_remove(dev, hold);
	}
	spin_unlock(&dev->holds.lock);
	mutex_unlock(&dev->control_lock);
}

void lens_holds_end_all(struct lens_dev *dev, u8 why)
{
	int err;

	/* ending has one writer. */
	lockdep_assert_held(&lens_devices_lock);
	if (!holds_disown_all(&dev->holds, why))
		return;
	/* Uses in progress end at their next access, so that control_lock is there soon. */
	WRITE_ONCE(dev->ending, 1);
	err = holds_end_due(dev, why == LENS_HOLDS_UNBIND);
	if (err && why != LENS_HOLDS_SUSPEND)
		holds_drop_all(dev);
	WRITE_ONCE(dev->ending, 0);
}

void lens_holds_allow(struct lens_dev *dev, u8 why)
{
	spin_lock(&dev->holds.lock);
	dev->holds.refused &= ~why;
	holds_schedule(dev);
	spin_unlock(&dev->holds.lock);
}

void lens_holds_stop(struct lens_dev *dev)
{
	cancel_delayed_work_sync(&dev->holds.work);
}

void lens_holds_init(struct lens_dev *dev)
{
	spin_lock_init(&dev->holds.lock);
	INIT_LIST_HEAD(&dev->holds.list);
	INIT_DELAYED_WORK(&dev->holds.work, holds_run);
}
