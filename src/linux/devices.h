/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of GPUs, and their coming and going.
 */
#ifndef _LENS_DEVICES_H_
#define _LENS_DEVICES_H_

#include <linux/mutex.h>

struct device;
struct lens_bus;
struct lens_dev;

/* add and report_users are called with lens_devices_lock held, remove without a lock. */
struct lens_devices_listener {
	int (*add)(struct lens_dev *dev);	/* error: the GPU is not attached */
	void (*remove)(struct lens_dev *dev);	/* returns when the GPU is used no more */
	void (*report_users)(struct lens_dev *dev);	/* log for whom remove waits */
};

/* Before the first GPU is attached: 0 or -ENOMEM. */
int lens_devices_init(const struct lens_devices_listener *listener);
/* Detach all GPUs, and wait until nobody is inside of a file. */
void lens_devices_exit(void);
extern struct mutex lens_devices_lock;
/*
 * Attach a device unless it is attached, in place of a removed one of the same name. Under
 * lens_devices_lock. quiet: no message after an error. -EBUSY: another module has its /proc name;
 * -EOPNOTSUPP: not a GPU of a known generation; -EINPROGRESS: the files of the removed one are
 * being removed, try again after lens_devices_wait_removed(); after other errors, later.
 */
int lens_attach_device(const struct lens_bus *bus, struct device *device, bool quiet);
/* The device is being removed: no more accesses, its files return ENODEV. Takes the lock. */
void lens_unmap_device(struct device *device);
/* Its driver is being unbound: holds end; or was unbound. Takes the lock. */
void lens_release_device(struct device *device);
void lens_device_is_free(struct device *device);
/* Wait, without a lock, until no files are being removed, ms at most. False: none were. */
bool lens_devices_wait_removed(unsigned int ms);

#endif /* _LENS_DEVICES_H_ */
