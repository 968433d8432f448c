// SPDX-License-Identifier: GPL-2.0
/*
 * Searches a bus for GPUs: at load, after an event of the bus, and again as long as a GPU cannot
 * be read.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "devices.h"
#include "scan.h"

/* How long a GPU that comes back waits for its old number. */
#define SCAN_FILES_MS 200

/* Freezable: while the machine suspends, every GPU appears asleep. */
static void scan_schedule(struct lens_scan *scan, unsigned int ms)
{
	mod_delayed_work(system_freezable_power_efficient_wq, &scan->work, msecs_to_jiffies(ms));
}

static void scan_retry_later(struct lens_scan *scan)
{
	unsigned int ms = READ_ONCE(scan->retry_ms);

	ms = ms ? min(2 * ms, scan->last_ms) : scan->first_ms;
	WRITE_ONCE(scan->retry_ms, ms);
	scan_schedule(scan, ms);
}

static void scan_run(struct work_struct *work)
{
	struct lens_scan *scan = container_of(to_delayed_work(work), struct lens_scan, work);
	bool again;

	scan->attach_all(scan->quiet || READ_ONCE(scan->retry_ms), &again);
	/* A GPU that comes back gets its old number, if nobody stays inside of its old files. */
	if (again && lens_devices_wait_removed(SCAN_FILES_MS))
		scan->attach_all(scan->quiet || READ_ONCE(scan->retry_ms), &again);
	if (again)
		scan_retry_later(scan);
}

void lens_scan_init(struct lens_scan *scan)
{
	INIT_DELAYED_WORK(&scan->work, scan_run);
}

int lens_scan_start(struct lens_scan *scan)
{
	bool again;
	int err = scan->attach_all(false, &again);

	if (!err && again)
		scan_retry_later(scan);
	return err;
}

void lens_scan_schedule(struct lens_scan *scan)
{
	WRITE_ONCE(scan->retry_ms, 0);
	scan_schedule(scan, scan->settle_ms);
}

void lens_scan_stop(struct lens_scan *scan)
{
	cancel_delayed_work_sync(&scan->work);
}
