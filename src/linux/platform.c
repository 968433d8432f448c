// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU of a Tegra: a platform device whose first memory resource is BAR0. Its
 * driver (nvgpu) powers it down when it is idle, so it is resumed and held while
 * it is touched. A GPU without a driver has no power, and an access would hang
 * the bus: it is there from when a driver is bound until that goes.
 *
 * The names are those of the device tree nodes that the chips' kernels use:
 * 57000000.gpu (Tegra K1, X1), 17000000.gp10b or .gpu (X2), .gv11b (Xavier),
 * .ga10b or .gpu (Orin).
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/workqueue.h>

#include "lens.h"

static const char *const names[] = {
	"17000000.gpu", "17000000.ga10b", "17000000.gv11b", "17000000.gp10b", "57000000.gpu",
};

static bool is_gpu(struct device *device)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(dev_name(device), names[i]))
			return true;
	return false;
}

static int platform_map(struct lens_dev *dev)
{
	struct resource *res;

	res = platform_get_resource(to_platform_device(dev->device), IORESOURCE_MEM, 0);
	if (!res)
		return -ENODEV;
	dev->bar0_len = resource_size(res);
	dev->bar0 = ioremap(res->start, dev->bar0_len);
	return dev->bar0 ? 0 : -ENOMEM;
}

static void platform_unmap(struct lens_dev *dev)
{
	iounmap(dev->bar0);
}

/*
 * Reading wakes it too: asleep between any two frames, a Tegra's GPU could hardly
 * be looked at otherwise. A use is counted in any case, so that put fits whatever
 * the driver did meanwhile.
 */
static int platform_get(struct lens_dev *dev, bool wake)
{
	int err = pm_runtime_get_sync(dev->device);

	/* -EACCES: nobody manages its power at run time; then its driver keeps it awake. */
	if (err >= 0 || err == -EACCES)
		return 0;
	pm_runtime_put_noidle(dev->device);
	return -ENODEV;
}

/* As nvgpu does: so that reading now and then does not switch power each time. */
static void platform_put(struct lens_dev *dev)
{
	pm_runtime_mark_last_busy(dev->device);
	pm_runtime_put_autosuspend(dev->device);
}

static const struct lens_bus platform_bus_ops = {
	.map = platform_map,
	.unmap = platform_unmap,
	.get = platform_get,
	.put = platform_put,
};

/*
 * Attach every GPU that has a driver and is not yet attached. A device's lock is
 * not waited for, since it is held around bus_event(), which takes ours; who
 * holds it is looked at again later.
 */
static void rescan(struct work_struct *work);
static DECLARE_DELAYED_WORK(rescan_work, rescan);
#define SETTLE msecs_to_jiffies(100)

static int attach_gpu(struct device *device, void *data)
{
	int *err = data;

	if (!is_gpu(device))
		return 0;
	if (!device_trylock(device)) {
		mod_delayed_work(system_power_efficient_wq, &rescan_work, SETTLE);
		return 0;
	}
	if (device->driver && lens_attach(&platform_bus_ops, device) == -EBUSY)
		*err = -EBUSY;
	device_unlock(device);
	return *err;
}

static int scan(void)
{
	int err = 0;

	mutex_lock(&lens_devices_lock);
	bus_for_each_dev(&platform_bus_type, NULL, &err, attach_gpu);
	mutex_unlock(&lens_devices_lock);
	return err;
}

static void rescan(struct work_struct *work)
{
	scan();
}

static int bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct device *device = data;

	if (!is_gpu(device))
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_BOUND_DRIVER)
		mod_delayed_work(system_power_efficient_wq, &rescan_work, SETTLE);
	else if (action == BUS_NOTIFY_UNBIND_DRIVER || action == BUS_NOTIFY_DEL_DEVICE)
		lens_device_gone(device);
	return NOTIFY_OK;
}

static struct notifier_block bus_notifier = {
	.notifier_call = bus_event,
};

void lens_platform_exit(void)
{
	bus_unregister_notifier(&platform_bus_type, &bus_notifier);
	cancel_delayed_work_sync(&rescan_work);
}

int lens_platform_init(void)
{
	int err = bus_register_notifier(&platform_bus_type, &bus_notifier);

	if (err)
		return err;
	err = scan();
	if (err)
		lens_platform_exit();
	return err;
}
