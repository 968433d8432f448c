/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Channels that open files keep disabled for a limited time.
 */
#ifndef _LENS_HOLDS_H_
#define _LENS_HOLDS_H_

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../../include/gpulens/gpu.h"

struct lens_dev;

/* Channels that open files hold (holds.c). */
struct lens_holds {
	spinlock_t lock;		/* protects the list and what is in it */
	struct list_head list;
	u32 n;
	u8 refused;			/* LENS_HOLDS_*: why none may begin */
	unsigned int retry_ms;		/* until the next attempt to end those that are due */
	struct delayed_work work;
};

/* A hold ends so long after its beginning, unless its file asks for less or renews it. */
#define LENS_HOLD_MS 1000
/* Holds of a GPU at a time. */
#define LENS_HOLDS_MAX 64

/* Why no hold may begin. */
#define LENS_HOLDS_UNBIND	BIT(0)	/* the driver is being unbound */
#define LENS_HOLDS_SUSPEND	BIT(1)	/* the machine sleeps, or is about to */
#define LENS_HOLDS_GONE		BIT(2)	/* the GPU is removed, or the module unloaded */

void lens_holds_init(struct lens_dev *dev);
/*
 * Disable a channel for ms milliseconds (0: LENS_HOLD_MS) or until owner, an open file, is closed.
 * Within a control request. 0, also where owner holds it already: it is disabled again, and its
 * time goes on if ms is 0, else begins again; *runlist as for lens_channel_enable(). -EALREADY: it
 * is disabled, not by a hold; -EBUSY: another file holds it, or LENS_HOLDS_UNBIND or ..._SUSPEND;
 * -ENOSPC: LENS_HOLDS_MAX; -ENODEV; -ENOMEM; errors of lens_channel_find() and
 * lens_channel_enable_same().
 */
int lens_hold_begin(struct lens_dev *dev, const void *owner, const struct lens_ref *ref, u32 ms,
		    int *runlist);
/* The holds of owner end ms milliseconds from now. No access. 0; -ENOENT: it holds nothing. */
int lens_holds_renew(struct lens_dev *dev, const void *owner, u32 ms);
/* A request has set the channel's state: a hold of it ends without effect. */
void lens_hold_drop(struct lens_dev *dev, int runlist, u32 id);
/* owner is closed: its holds end soon, in a worker. */
void lens_holds_end_owner(struct lens_dev *dev, const void *owner);
/*
 * No hold begins any more, for that reason; end all. Returns at once if there is none. Those that
 * cannot be ended are dropped, except for LENS_HOLDS_SUSPEND. With lens_devices_lock held.
 */
void lens_holds_end_all(struct lens_dev *dev, u8 why);
/* Holds may begin again, as far as that reason is concerned. */
void lens_holds_allow(struct lens_dev *dev, u8 why);
/* Wait for the worker, which does not run again unless a hold begins or lens_holds_allow(). */
void lens_holds_stop(struct lens_dev *dev);

#endif /* _LENS_HOLDS_H_ */
