// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU of a Tegra: a platform device whose first memory resource is BAR0. Its
 * driver (nvgpu) powers it down when it is idle, so it is resumed and held while
 * it is touched.
 *
 * The names are those of the device tree nodes that the chips' kernels use:
 * 57000000.gpu (Tegra K1, X1), 17000000.gp10b or .gpu (X2), .gv11b (Xavier),
 * .ga10b or .gpu (Orin).
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

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

static int platform_get(struct lens_dev *dev)
{
	if (!pm_runtime_enabled(dev->device))
		return 0;
	return pm_runtime_resume_and_get(dev->device) < 0 ? -ENODEV : 0;
}

static void platform_put(struct lens_dev *dev)
{
	if (pm_runtime_enabled(dev->device))
		pm_runtime_put(dev->device);
}

static const struct lens_bus platform_bus_ops = {
	.map = platform_map,
	.unmap = platform_unmap,
	.get = platform_get,
	.put = platform_put,
};

static int attach_gpu(struct device *device, void *data)
{
	int *err = data;

	if (is_gpu(device) && lens_attach(&platform_bus_ops, device) == -EEXIST)
		*err = -EEXIST;
	return *err;
}

static int bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct device *device = data;

	if (action == BUS_NOTIFY_DEL_DEVICE && is_gpu(device))
		lens_device_gone(device);
	return NOTIFY_OK;
}

static struct notifier_block bus_notifier = {
	.notifier_call = bus_event,
};

int lens_platform_init(void)
{
	int err = bus_register_notifier(&platform_bus_type, &bus_notifier);

	if (err)
		return err;
	mutex_lock(&lens_devices_lock);
	bus_for_each_dev(&platform_bus_type, NULL, &err, attach_gpu);
	mutex_unlock(&lens_devices_lock);
	if (err)
		lens_platform_exit();
	return err;
}

void lens_platform_exit(void)
{
	bus_unregister_notifier(&platform_bus_type, &bus_notifier);
}
