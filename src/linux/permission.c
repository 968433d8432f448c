// SPDX-License-Identifier: GPL-2.0
/*
 * Permissions: who may observe scheduling, see raw words, control the GPU, and how long
 * readers without a privilege may keep the machine stopped (unsafe_world_readable=1).
 *
 * Each function asks for the file's opener and for the caller, in the initial user
 * namespace: an open file that is passed on lends no privilege.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "lens.h"

static int permission_gid = -1;
module_param_named(gid, permission_gid, int, 0444);
MODULE_PARM_DESC(gid, "group whose members may open runlists, snapshot and bars; they need CAP_PERFMON or CAP_SYS_ADMIN as well; -1: no group (default)");

static bool permission_control = true;
module_param_named(control, permission_control, bool, 0444);
MODULE_PARM_DESC(control, "allow the files that control the GPU (default 1); 0 refuses every write with EACCES");

static bool permission_world_readable;
module_param_named(unsafe_world_readable, permission_world_readable, bool, 0444);
MODULE_PARM_DESC(unsafe_world_readable,
		 "let every user read runlists, snapshot and bars (default 0): every user can then stop all processors, and see the TSGs and channels of others");

static uint stop_percent = 2;
module_param(stop_percent, uint, 0644);
MODULE_PARM_DESC(stop_percent,
		 "with unsafe_world_readable=1: share of time, in percent, that all readers without a privilege together may keep the machine stopped, 1 to 100 (default 2)");

int __init lens_permission_init(void)
{
	if (permission_gid < -1)
		return -EINVAL;
	if (permission_gid >= 0 && !gid_valid(make_kgid(&init_user_ns, permission_gid)))
		return -EINVAL;
	return 0;
}

static bool permission_has(const struct file *file, int cap)
{
	return file_ns_capable(file, &init_user_ns, cap) && capable(cap);
}

bool lens_may_observe(const struct file *file)
{
	return permission_has(file, CAP_PERFMON) || permission_has(file, CAP_SYS_ADMIN);
}

bool lens_may_see_raw(const struct file *file)
{
	return lens_may_observe(file) && !security_locked_down(LOCKDOWN_PCI_ACCESS);
}

int lens_check_reader(enum lens_access access, const struct file *file, bool *observe)
{
	*observe = lens_may_observe(file);
	switch (access) {
	case LENS_ACCESS_TOPOLOGY:
		return 0;
	case LENS_ACCESS_SCHEDULING:
		return *observe || permission_world_readable ? 0 : -EPERM;
	case LENS_ACCESS_RAW:
		return lens_may_see_raw(file) ? 0 : -EPERM;
	default:
		return *observe ? 0 : -EPERM;
	}
}

int lens_may_control(const struct file *file)
{
	if (!permission_has(file, CAP_SYS_ADMIN) || security_locked_down(LOCKDOWN_PCI_ACCESS))
		return -EPERM;
	return permission_control ? 0 : -EACCES;
}

umode_t lens_file_mode(enum lens_access access)
{
	bool group = permission_gid >= 0;

	switch (access) {
	case LENS_ACCESS_TOPOLOGY:
		/* Partitioning programs read it as ordinary users. */
		return 0444;
	case LENS_ACCESS_SCHEDULING:
		if (permission_world_readable)
			return 0444;
		fallthrough;
	case LENS_ACCESS_RAW:
		return group ? 0440 : 0400;
	case LENS_ACCESS_SAMPLES:
		return group ? 0660 : 0600;
	default:
		return 0200;
	}
}

void lens_set_file_group(struct proc_dir_entry *entry, umode_t mode)
{
	/* Only where the group may do what other users may not. */
	if (permission_gid >= 0 && mode & 0040 && !(mode & 0004))
		proc_set_user(entry, GLOBAL_ROOT_UID, make_kgid(&init_user_ns, permission_gid));
}

/* -- the budget of stopped time of readers without a privilege, a token bucket -- */

/* What the bucket holds when full, the burst; and the longest stop, for which it must have room. */
#define BUDGET_FULL_NS	(200 * (s64)NSEC_PER_MSEC)
#define BUDGET_STOP_NS	(50 * (s64)NSEC_PER_MSEC)
/* The longest time that a stop is charged for besides how long all stood still. */
#define BUDGET_GATHER_NS	(1 * (s64)NSEC_PER_MSEC)
/* The longest time since the last look that counts: it fills the bucket at 1 % from any debt. */
#define BUDGET_SPAN_NS	(100 * (u64)NSEC_PER_SEC)

/*
 * Such readers of all GPUs take turns, in the order in which they come: one that waited for the
 * budget finds it there. Readers with a privilege never take this lock.
 */
static DEFINE_MUTEX(budget_turn);
static struct task_struct *budget_reader;

static DEFINE_SPINLOCK(budget_lock);
static s64 budget_ns = BUDGET_FULL_NS;
static u64 budget_filled_ns;

/* What is in the bucket now. The clock is read with the lock held, so that no time counts twice. */
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
	int err = mutex_lock_interruptible(&budget_turn);

	if (err)
		return err;
	WRITE_ONCE(budget_reader, current);
	return 0;
}

void lens_stop_budget_end(void)
{
	WRITE_ONCE(budget_reader, NULL);
	mutex_unlock(&budget_turn);
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

bool lens_stop_budget_left(void)
{
	return budget_fill() >= BUDGET_STOP_NS;
}

void lens_stop_budget_charge(u64 stopped_ns, u64 took_ns)
{
	/*
	 * Also what it takes until all stand still, not the wait for stops of others; and a stop
	 * whose clock showed no time.
	 */
	u64 more = took_ns > stopped_ns ? min_t(u64, took_ns - stopped_ns, BUDGET_GATHER_NS) : 0;

	spin_lock(&budget_lock);
	budget_ns -= min_t(u64, stopped_ns + more, BUDGET_SPAN_NS / 100);
	spin_unlock(&budget_lock);
}
