/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Searches of a bus for GPUs.
 */
#ifndef _LENS_SCAN_H_
#define _LENS_SCAN_H_

#include <linux/workqueue.h>

struct lens_scan {
	/*
	 * Attach every GPU that is not attached. *again: try again later. At load, an error
	 * means that loading fails.
	 */
	int (*attach_all)(bool quiet, bool *again);
	unsigned int settle_ms;		/* from an event to the search */
	unsigned int first_ms, last_ms;	/* between retries: doubles from first to last */
	bool quiet;			/* no messages after load */
	unsigned int retry_ms;		/* of the retry in progress; 0: none */
	struct delayed_work work;
};

/* Before lens_scan_schedule() can be called. */
void lens_scan_init(struct lens_scan *scan);
/* Search now, and again later if necessary. What attach_all() returned. */
int lens_scan_start(struct lens_scan *scan);
/* Search soon, after an event of the bus. */
void lens_scan_schedule(struct lens_scan *scan);
void lens_scan_stop(struct lens_scan *scan);

#endif /* _LENS_SCAN_H_ */
