/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One use of a GPU: kept from being suspended, its lock held, with a limit in time.
 */
#ifndef _LENS_USE_H_
#define _LENS_USE_H_

#include <linux/sched.h>

#include "sysmem.h"

struct lens_dev;

/*
 * One use of a GPU, from lens_dev_begin_use() to lens_dev_end_use(). Accesses are refused when it
 * is over, and in a stop of the machine when that is over (cut).
 */
struct lens_use {
	struct task_struct *task;	/* the caller; stop_machine() runs in another task */
	u64 until;			/* end of the use, ns of CLOCK_MONOTONIC */
	u64 resched_ns;			/* time of the last cond_resched() */
	u32 access_ns;			/* time of one access, measured at the beginning */
	int over;			/* no more accesses: -ETIMEDOUT, -EBUSY (lens_dev.ending) */
	bool ends_holds;		/* goes on in spite of lens_dev.ending and of signals */
	bool device_locked;		/* the caller holds the device's lock */
	struct lens_pin pin;		/* system memory that can be accessed in a stop */

	/* While the machine is stopped. */
	bool stopped, cut;
	bool wrote;			/* in atomic() */
	u32 left, timed;		/* accesses left in the stop; left to be timed */
	u64 stop_began, soon, stop_until;	/* soon: no new work after it */
};

/*
 * Begin a use. 0, with the lock held until lens_dev_end_use(); errors of lens_dev_acquire() and
 * lens_mmio_probe_gpu(); -EBUSY: lens_dev.ending; -EINTR. lens_dev_end_use() returns the result of
 * the use, which it is given, or -ENODEV, -ETIMEDOUT or -EBUSY (holds are ended).
 */
int lens_dev_begin_use(struct lens_dev *dev);
int __must_check lens_dev_end_use(struct lens_dev *dev, int result);
/*
 * Like lens_dev_begin_use(), and serialises control requests: a request may drop dev->lock
 * while it polls, and a second write to the same register would be mistaken for the
 * completion of the first.
 */
int lens_dev_begin_control(struct lens_dev *dev);
int __must_check lens_dev_end_control(struct lens_dev *dev, int result);
/*
 * Like lens_dev_begin_control(), to end holds, for ms milliseconds: not interrupted, and not
 * refused because of lens_dev.ending. device_locked: the caller holds the device's lock.
 */
int lens_dev_begin_ending(struct lens_dev *dev, u32 ms, bool device_locked);
/* The same as a use for ms milliseconds, where nobody else can use the GPU or its lock is held. */
int lens_dev_begin_locked(struct lens_dev *dev, u32 ms);
int __must_check lens_dev_end_locked(struct lens_dev *dev, int result);

#endif /* _LENS_USE_H_ */
