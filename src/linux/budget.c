// SPDX-License-Identifier: GPL-2.0
/*
 * How long readers without a privilege may keep the machine stopped, with
 * unsafe_world_readable=1: a token bucket of stopped time.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "lens.h"

static uint stop_percent = 2;
module_param(stop_percent, uint, 0644);
MODULE_PARM_DESC(stop_percent,
		 "with unsafe_world_readable=1: percentage of time for which all readers without the capability together may stop all processors, 1 to 100 (default 2)");

/* Capacity of the bucket, which limits a burst; and the longest stop, which must be in it. */
#define BUDGET_FULL_NS	(200 * (s64)NSEC_PER_MSEC)
#define BUDGET_STOP_NS	(50 * (s64)NSEC_PER_MSEC)
/* At most this is charged for the time until all processors have stopped. */
#define BUDGET_GATHER_NS	(1 * (s64)NSEC_PER_MSEC)
/* Longest time between two refills that counts: at 1 % it pays back any debt. */
#define BUDGET_SPAN_NS	(100 * (u64)NSEC_PER_SEC)

/*
 * Serialises readers without the capability, of all GPUs, so that a reader that waited for the
 * budget finds it full. Other readers never take it.
 */
static DEFINE_MUTEX(budget_reader_lock);
static struct task_struct *budget_reader;

static DEFINE_SPINLOCK(budget_lock);
static s64 budget_ns = BUDGET_FULL_NS;
static u64 budget_filled_ns;

/* Returns what is in the bucket. The clock is read with the lock held: no time counts twice. */
static s64 budget_fill(void)
{
	u64 now, since;
	s64 left;

	spin_lock(&budget_lock);
	now = ktime_get_ns();
	since = budget_filled_ns && now > budget_filled_ns ? now - budget_filled_ns : 0;
	since = min(since, BUDGET_SPAN_NS);
	budget_ns += div_u64(since * clamp(READ_ONCE(stop_percent), 1U, 100U), 100);
	budget_ns = min_t(s64, budget_ns, BUDGET_FULL_NS);
	budget_filled_ns = max(budget_filled_ns, now);
	left = budget_ns;
	spin_unlock(&budget_lock);
	return left;
}

int lens_stop_budget_begin(void)
{
	int err = mutex_lock_interruptible(&budget_reader_lock);

	if (err)
		return err;
	WRITE_ONCE(budget_reader, current);
	return 0;
}

void lens_stop_budget_end(void)
{
	WRITE_ONCE(budget_reader, NULL);
	mutex_unlock(&budget_reader_lock);
}

bool lens_stop_is_budgeted(void)
{
	return READ_ONCE(budget_reader) == current;
}

int lens_stop_budget_wait(u64 ns)
{
	s64 need = min_t(u64, ns, BUDGET_FULL_NS - BUDGET_STOP_NS) + BUDGET_STOP_NS;

	while (budget_fill() < need) {
		schedule_timeout_interruptible(msecs_to_jiffies(10));
		if (signal_pending(current))
			return -ERESTARTSYS;
	}
	return 0;
}

bool lens_stop_budget_allows_stop(void)
{
	return budget_fill() >= BUDGET_STOP_NS;
}

void lens_stop_budget_charge(u64 stopped_ns, u64 took_ns)
{
	/*
	 * Also for the time until all processors have stopped, but not for waiting until the stops
	 * of others are over; and for a stop during which the clock did not advance.
	 */
	u64 more = took_ns > stopped_ns ? min_t(u64, took_ns - stopped_ns, BUDGET_GATHER_NS) : 0;

	spin_lock(&budget_lock);
	budget_ns -= min_t(u64, stopped_ns + more, BUDGET_SPAN_NS / 100);
	spin_unlock(&budget_lock);
}
