// SPDX-License-Identifier: GPL-2.0
/*
 * The list of GPUs. A GPU that was removed keeps its number and its files, which return ENODEV,
 * until there is a GPU at the same address again or the module is unloaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "lens.h"

/* Time limit of attaching, which holds the PCI core's rescan lock: about 400 reads. */
#define DEVICES_ATTACH_MS 2000

static LIST_HEAD(devices_list);
/* Protects the list: attaching, numbering, detaching. */
DEFINE_MUTEX(lens_devices_lock);
static const struct lens_devices_listener *devices_listener;
/*
 * Not freezable: a GPU may be removed while the machine sleeps, which wakes only after that.
 * Unbound: work of a GPU whose registers are slow holds up no other work of a processor.
 */
static struct workqueue_struct *devices_wq;

/* -- attaching and detaching -- */

static int devices_map_gpu(struct lens_dev *dev, bool quiet)
{
	int err;

	err = dev->bus->map(dev);
	if (err)
		return err;
	/* All registers that are read lie in the first 16 MiB. */
	if (dev->bar0_len < 0x1000000) {
		err = -EOPNOTSUPP;
		goto err_unmap;
	}
	dev->io.ops = &lens_mmio_ops;
	err = lens_dev_begin_locked(dev, DEVICES_ATTACH_MS);
	if (err)
		goto err_unmap;
	err = lens_gpu_identify(&dev->gpu, &dev->io);
	if (!err)
		err = lens_gpu_read_topology(&dev->gpu);
	else if (err == -ENODEV && dev->gpu.chip_id)
		err = -EOPNOTSUPP;
	err = lens_dev_end_locked(dev, err);
	if (err == -EOPNOTSUPP && dev->gpu.chip_id && !quiet)
		pr_info("%s: unknown chip %#x (BOOT_0 %#x), not attached\n", dev->where,
			dev->gpu.chip_id, dev->gpu.boot0);
	if (err)
		goto err_unmap;
	return 0;

err_unmap:
	dev->bus->unmap(dev);
	dev->bar0 = NULL;
	return err;
}

/*
 * No access to BAR0 after this: uses check dev->gone before each access and hold dev->lock;
 * lens_samplers_stop() waits for samplers.
 */
static void devices_unmap_gpu(struct lens_dev *dev)
{
	WRITE_ONCE(dev->gone, 1);
	lens_holds_stop(dev);
	lens_samplers_stop(dev);
	mutex_lock(&dev->lock);
	if (dev->bar0)
		dev->bus->unmap(dev);
	dev->bar0 = NULL;
	mutex_unlock(&dev->lock);
}

/* The list entry before which an index belongs. A negative *index becomes the lowest free one. */
static struct list_head *devices_find_place(int *index)
{
	struct lens_dev *other;

	if (*index < 0) {
		*index = 0;
		list_for_each_entry(other, &devices_list, link) {
			if (other->index != *index)
				break;
			(*index)++;
		}
	}
	list_for_each_entry(other, &devices_list, link)
		if (other->index > *index)
			return &other->link;
	return &devices_list;
}

int lens_devices_init(const struct lens_devices_listener *listener)
{
	devices_listener = listener;
	devices_wq = alloc_workqueue("gpulens", WQ_UNBOUND, 0);
	return devices_wq ? 0 : -ENOMEM;
}

void lens_devices_exit(void)
{
	destroy_workqueue(devices_wq);
}

static const char *devices_explain_error(int err)
{
	switch (err) {
	case -ENODATA:
		return "the GPU is asleep";
	case -ENXIO:
		return "its memory decoding is off";
	case -EIO:
		return "BOOT_0 is not that of a GPU";
	case -ETIMEDOUT:
		return "its registers are too slow";
	case -ENODEV:
		return "it does not respond";
	}
	return NULL;
}

static void devices_free_gpu(struct lens_dev *dev)
{
	put_device(dev->device);
	kvfree(dev);
}

static void devices_detach_gpu(struct lens_dev *dev)
{
	lockdep_assert_held(&lens_devices_lock);
	/* First: uses then end at their next access, and readers stop waiting for samples. */
	devices_unmap_gpu(dev);
	devices_listener->remove(dev);
	list_del(&dev->link);
	devices_free_gpu(dev);
}

static struct lens_dev *devices_alloc_gpu(const struct lens_bus *bus, struct device *device)
{
	struct lens_dev *dev = kvzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	mutex_init(&dev->control_lock);
	mutex_init(&dev->lock);
	lens_samplers_init(dev);
	lens_holds_init(dev);
	dev->bus = bus;
	dev->wq = devices_wq;
	dev->device = get_device(device);
	if (dev_is_pci(device))
		dev->pdev = to_pci_dev(device);
	strscpy(dev->where, dev_name(device), sizeof(dev->where));
	return dev;
}

static void devices_report_failure(const struct lens_dev *dev, int err)
{
	if (devices_explain_error(err))
		pr_info("%s: not attached: %s; will retry\n", dev->where,
			devices_explain_error(err));
	else if (err != -EOPNOTSUPP)
		pr_err("%s: cannot be attached: error %d\n", dev->where, err);
}

static struct lens_dev *devices_find_gpu(const char *where)
{
	struct lens_dev *dev;

	list_for_each_entry(dev, &devices_list, link)
		if (!strcmp(dev->where, where))
			return dev;
	return NULL;
}

static bool devices_has_moved(const struct lens_dev *dev)
{
	return dev->pdev && pci_resource_start(dev->pdev, 0) != dev->bar0_start;
}

int lens_attach_device(const struct lens_bus *bus, struct device *device, bool quiet)
{
	struct list_head *before;
	struct lens_dev *dev, *old;
	int err, index = -1;

	lockdep_assert_held(&lens_devices_lock);
	old = devices_find_gpu(dev_name(device));
	/* Attach again if its driver moved BAR0, as resizing BARs does. */
	if (old && !old->gone && !devices_has_moved(old))
		return 0;
	dev = devices_alloc_gpu(bus, device);
	if (!dev)
		return -ENOMEM;
	err = devices_map_gpu(dev, quiet);
	if (err) {
		if (!quiet)
			devices_report_failure(dev, err);
		devices_free_gpu(dev);
		return err;
	}
	/* Only now: the files of a removed GPU stay until another GPU replaces it. */
	if (old) {
		index = old->index;
		devices_detach_gpu(old);
	}
	before = devices_find_place(&index);
	dev->index = index;
	err = devices_listener->add(dev);
	if (err) {
		devices_unmap_gpu(dev);
		devices_free_gpu(dev);
		return err;
	}
	list_add_tail(&dev->link, before);
	if (!dev->gpu.known)
		pr_warn("%s: unknown chip %#x: only its device table is read, as on %s\n",
			dev->where, dev->gpu.chip_id, dev->gpu.chip->name);
	pr_info("%s: %s is /proc/gpu%d\n", dev->where, dev->gpu.name, dev->index);
	return 0;
}

void lens_unmap_device(struct device *device)
{
	struct lens_dev *dev;

	mutex_lock(&lens_devices_lock);
	dev = devices_find_gpu(dev_name(device));
	if (dev && dev->device == device)
		devices_unmap_gpu(dev);
	mutex_unlock(&lens_devices_lock);
}

void lens_detach_devices(void)
{
	struct lens_dev *dev, *next;

	mutex_lock(&lens_devices_lock);
	list_for_each_entry(dev, &devices_list, link)
		lens_holds_end_all(dev);
	list_for_each_entry(dev, &devices_list, link)
		WRITE_ONCE(dev->gone, 1);
	list_for_each_entry_safe(dev, next, &devices_list, link)
		devices_detach_gpu(dev);
	mutex_unlock(&lens_devices_lock);
}
