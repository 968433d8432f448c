// SPDX-License-Identifier: GPL-2.0
/*
 * The GPUs there are: attaching, numbering, detaching. How a device is found and
 * mapped is its bus's business (pci.c, platform.c).
 *
 * A GPU that was removed keeps its number and its files, which answer ENODEV,
 * until the same place is filled again or the module goes.
 */
#include <linux/device.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "lens.h"

static LIST_HEAD(lens_devices);
/* Guards the list: attaching, numbering, detaching. */
DEFINE_MUTEX(lens_devices_lock);

static int map_and_read(struct lens_dev *dev)
{
	int err;

	err = dev->bus->map(dev);
	if (err)
		return err;
	/* The last register that anything here reads lies in the first 16 MiB. */
	if (dev->bar0_len < 0x1000000) {
		err = -ENODEV;
		goto err_unmap;
	}
	dev->io.ops = &lens_mmio_ops;
	/* Not timeout_ms: nobody looks again at a GPU that took too long here. */
	err = lens_dev_begin(dev, true, LENS_TIMEOUT_MS);
	if (err) {
		dev_info(dev->device, "gpulens: does not answer, left alone\n");
		goto err_unmap;
	}
	err = lens_gpu_identify(&dev->gpu, &dev->io);
	if (!err)
		err = lens_gpu_read_topology(&dev->gpu);
	else if (err == -ENODEV)
		dev_info(dev->device,
			 "gpulens: chip %#x (BOOT_0 %#x) is not known, left alone\n",
			 dev->gpu.chip_id, dev->gpu.boot0);
	err = lens_dev_end(dev, err);
	if (err)
		goto err_unmap;
	return 0;

err_unmap:
	dev->bus->unmap(dev);
	return err;
}

static void unmap(struct lens_dev *dev)
{
	/* They take no lock of the GPU. */
	lens_samplers_stop(dev);
	mutex_lock(&dev->lock);
	if (!dev->gone) {
		dev->gone = true;
		dev->bus->unmap(dev);
		dev->bar0 = NULL;
	}
	mutex_unlock(&dev->lock);
}

/* Where in the list an index belongs; below 0: the lowest free one. */
static struct list_head *place(int *index)
{
	struct lens_dev *other;

	if (*index < 0) {
		*index = 0;
		list_for_each_entry(other, &lens_devices, link) {
			if (other->index != *index)
				break;
			(*index)++;
		}
	}
	list_for_each_entry(other, &lens_devices, link)
		if (other->index > *index)
			return &other->link;
	return &lens_devices;
}

static int attach(const struct lens_bus *bus, struct device *device, int index)
{
	struct list_head *before = place(&index);
	struct lens_dev *dev;
	int err;

	dev = kvzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	mutex_init(&dev->steering);
	mutex_init(&dev->lock);
	lens_samplers_init(dev);
	dev->index = index;
	dev->bus = bus;
	dev->device = get_device(device);
	if (dev_is_pci(device))
		dev->pdev = to_pci_dev(device);
	strscpy(dev->where, dev_name(device), sizeof(dev->where));
	err = map_and_read(dev);
	if (err) {
		if (err != -ENODEV)
			dev_err(device, "gpulens: cannot read the GPU's topology: %d\n", err);
		goto err_put;
	}
	err = lens_proc_add(dev);
	if (err)
		goto err_unmap;
	list_add_tail(&dev->link, before);
	if (!dev->gpu.known)
		dev_warn(device, "gpulens: chip %#x is not known; topology only (its device table), read as %s\n",
			 dev->gpu.chip_id, dev->gpu.chip->name);
	dev_info(device, "gpulens: %s is /proc/gpu%d\n", dev->gpu.name, dev->index);
	return 0;

err_unmap:
	unmap(dev);
err_put:
	put_device(device);
	kvfree(dev);
	return err;
}

static void detach(struct lens_dev *dev)
{
	lockdep_assert_held(&lens_devices_lock);
	/* Those who wait for samples leave. */
	lens_samplers_stop(dev);
	/* Waits for readers and writers that are inside a file. */
	lens_proc_remove(dev);
	unmap(dev);
	list_del(&dev->link);
	put_device(dev->device);
	kvfree(dev);
}

static struct lens_dev *at(const char *where)
{
	struct lens_dev *dev;

	list_for_each_entry(dev, &lens_devices, link)
		if (!strcmp(dev->where, where))
			return dev;
	return NULL;
}

int lens_attach(const struct lens_bus *bus, struct device *device)
{
	struct lens_dev *old;
	int index = -1;

	lockdep_assert_held(&lens_devices_lock);
	old = at(dev_name(device));
	if (old) {
		if (!old->gone)
			return 0;
		index = old->index;
		detach(old);
	}
	return attach(bus, device, index);
}

void lens_device_gone(struct device *device)
{
	struct lens_dev *dev;

	mutex_lock(&lens_devices_lock);
	dev = at(dev_name(device));
	if (dev && dev->device == device)
		unmap(dev);
	mutex_unlock(&lens_devices_lock);
}

void lens_detach_all(void)
{
	struct lens_dev *dev, *next;

	mutex_lock(&lens_devices_lock);
	list_for_each_entry_safe(dev, next, &lens_devices, link)
		detach(dev);
	mutex_unlock(&lens_devices_lock);
}
