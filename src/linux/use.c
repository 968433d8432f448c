// SPDX-License-Identifier: GPL-2.0
/*
 * One use of a GPU: it is kept from being suspended, its lock is held, and accesses have a time
 * limit.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "device.h"
#include "mmio.h"

static uint timeout_ms = 20000;
module_param(timeout_ms, uint, 0644);
MODULE_PARM_DESC(timeout_ms, "milliseconds that a read or write of a file may take before it fails with ETIMEDOUT (default 20000)");

int lens_dev_end_locked(struct lens_dev *dev, int result)
{
	/* Also if the GPU was removed meanwhile: the bus still counts the use. */
	lens_dev_release(dev);
	if (READ_ONCE(dev->gone))
		return -ENODEV;
	return dev->use.over ? dev->use.over : result;
}

int lens_dev_begin_locked(struct lens_dev *dev, u32 ms)
{
	struct lens_use *use = &dev->use;
	int err = lens_dev_acquire(dev);

	if (err)
		return err;
	memset(use, 0, sizeof(*use));
	use->task = current;
	use->resched_ns = ktime_get_ns();
	use->until = use->resched_ns + (u64)ms * NSEC_PER_MSEC;
	err = lens_mmio_probe_gpu(dev);
	if (err)
		return lens_dev_end_locked(dev, err);
	return 0;
}

static int use_begin(struct lens_dev *dev)
{
	int err = mutex_lock_interruptible(&dev->lock);

	if (err)
		return err;
	err = READ_ONCE(dev->ending) ? -EBUSY : lens_dev_begin_locked(dev, READ_ONCE(timeout_ms));
	if (err)
		goto err_unlock;
	/* A driver may have set the GPU up since it was attached. */
	err = lens_gpu_read_host_again(&dev->gpu);
	if (!err)
		return 0;
	err = lens_dev_end_locked(dev, err);
err_unlock:
	mutex_unlock(&dev->lock);
	return err;
}

/* One reader at most waits for the lock, so that requests and the end of holds wait for few. */
int lens_dev_begin_use(struct lens_dev *dev)
{
	int err = mutex_lock_interruptible(&dev->turn);

	if (err)
		return err;
	err = use_begin(dev);
	mutex_unlock(&dev->turn);
	return err;
}

int lens_dev_end_use(struct lens_dev *dev, int result)
{
	lockdep_assert_held(&dev->lock);
	result = lens_dev_end_locked(dev, result);
	mutex_unlock(&dev->lock);
	return result;
}

int lens_dev_begin_control(struct lens_dev *dev)
{
	int err = mutex_lock_interruptible(&dev->control_lock);

	if (err)
		return err;
	err = use_begin(dev);
	if (err)
		mutex_unlock(&dev->control_lock);
	return err;
}

int lens_dev_begin_ending(struct lens_dev *dev, u32 ms, bool device_locked)
{
	int err;

	mutex_lock(&dev->control_lock);
	mutex_lock(&dev->lock);
	err = lens_dev_begin_locked(dev, ms);
	dev->use.ends_holds = true;
	dev->use.device_locked = device_locked;
	if (!err)
		return 0;
	mutex_unlock(&dev->lock);
	mutex_unlock(&dev->control_lock);
	return err;
}

int lens_dev_end_control(struct lens_dev *dev, int result)
{
	lockdep_assert_held(&dev->control_lock);
	result = lens_dev_end_use(dev, result);
	mutex_unlock(&dev->control_lock);
	return result;
}
