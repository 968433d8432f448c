// SPDX-License-Identifier: GPL-2.0
/*
 * The integrated GPU of a Tegra: a platform device whose first memory resource is BAR0. Without a
 * driver it has no power, and an access would hang the bus, so it is attached from when a driver
 * is bound until it is unbound.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include "bus.h"
#include "device.h"
#include "devices.h"
#include "scan.h"

/*
 * As NVIDIA's device trees name them: 57000000.gpu (Tegra K1, X1), 17000000.gp10b or .gpu (X2),
 * .gv11b (Xavier), .ga10b or .gpu (Orin).
 */
static const char *const platform_gpus[] = {
	"17000000.gpu", "17000000.ga10b", "17000000.gv11b", "17000000.gp10b", "57000000.gpu",
};

static bool platform_is_gpu(struct device *device)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(platform_gpus); i++)
		if (!strcmp(dev_name(device), platform_gpus[i]))
			return true;
	return false;
}

static int platform_map_bar0(struct lens_dev *dev)
{
	struct resource *res;

	res = platform_get_resource(to_platform_device(dev->device), IORESOURCE_MEM, 0);
	if (!res)
		return -ENODEV;
	dev->bar0_start = res->start;
	dev->bar0_len = resource_size(res);
	dev->bar0 = ioremap(res->start, dev->bar0_len);
	return dev->bar0 ? 0 : -ENOMEM;
}

static void platform_unmap_bar0(struct lens_dev *dev)
{
	iounmap(dev->bar0);
}

/*
 * Unlike on PCI, a use resumes the GPU: nvgpu suspends it between any two frames, so it could
 * hardly be read otherwise.
 */
static int platform_get_use(struct lens_dev *dev)
{
	int err = pm_runtime_get_sync(dev->device);

	/* -EACCES: without runtime power management, its driver keeps it awake. */
	if (err >= 0 || err == -EACCES)
		return 0;
	pm_runtime_put_noidle(dev->device);
	return -ENODEV;
}

/* As nvgpu does, so that reading at intervals does not switch power each time. */
static void platform_put_use(struct lens_dev *dev)
{
	pm_runtime_mark_last_busy(dev->device);
	pm_runtime_put_autosuspend(dev->device);
}

static const struct lens_bus lens_platform_bus = {
	.map = platform_map_bar0,
	.unmap = platform_unmap_bar0,
	.get = platform_get_use,
	.put = platform_put_use,
};

struct platform_search {
	bool quiet, again;
	int err;
};

static int platform_attach_device(struct device *device, void *data)
{
	struct platform_search *search = data;
	int err;

	if (!platform_is_gpu(device))
		return 0;
	if (!device_trylock(device)) {
		search->again = true;
		return 0;
	}
	err = device->driver ? lens_attach_device(&lens_platform_bus, device, search->quiet) : 0;
	device_unlock(device);
	if (err == -EBUSY)
		search->err = err;
	else if (err && err != -EOPNOTSUPP)
		search->again = true;
	return search->err;
}

/*
 * Does not wait for a device's lock, which is held around platform_handle_bus_event(), and that
 * takes lens_devices_lock. A GPU whose lock is held is tried again.
 */
static int platform_attach_all(bool quiet, bool *again)
{
	struct platform_search search = { .quiet = quiet };

	mutex_lock(&lens_devices_lock);
	bus_for_each_dev(&platform_bus_type, NULL, &search, platform_attach_device);
	mutex_unlock(&lens_devices_lock);
	*again = search.again && !search.err;
	return search.err;
}

static struct lens_scan platform_scan = {
	.attach_all = platform_attach_all,
	.settle_ms = 100,
	.first_ms = 1000,
	.last_ms = 1000,
	.quiet = true,
};

static int platform_handle_bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct device *device = data;

	if (!platform_is_gpu(device))
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_BOUND_DRIVER)
		lens_scan_schedule(&platform_scan);
	if (action == BUS_NOTIFY_UNBIND_DRIVER)
		lens_release_device(device);
	if (action == BUS_NOTIFY_UNBIND_DRIVER || action == BUS_NOTIFY_DEL_DEVICE)
		lens_unmap_device(device);
	return NOTIFY_OK;
}

static struct notifier_block platform_bus_notifier = {
	.notifier_call = platform_handle_bus_event,
};

void lens_platform_exit(void)
{
	bus_unregister_notifier(&platform_bus_type, &platform_bus_notifier);
	lens_scan_stop(&platform_scan);
}

int lens_platform_init(void)
{
	int err;

	lens_scan_init(&platform_scan);
	err = bus_register_notifier(&platform_bus_type, &platform_bus_notifier);
	if (err)
		return err;
	err = lens_scan_start(&platform_scan);
	if (err)
		lens_platform_exit();
	return err;
}
