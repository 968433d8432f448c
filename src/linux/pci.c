// SPDX-License-Identifier: GPL-2.0
/*
 * Finding GPUs on PCI and following them when they come and go.
 *
 * The module is not a PCI driver: another one usually is, and stays. It keeps a
 * reference on each display device of NVIDIA, maps BAR0 beside the driver, and
 * hears of added and removed devices from the bus. A GPU that was removed keeps
 * its number and its files, which answer ENODEV, until the same address
 * is filled again or the module goes.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "lens.h"

#define BAR0 0

static LIST_HEAD(lens_devices);
static DEFINE_MUTEX(lens_devices_lock);

static bool is_gpu(const struct pci_dev *pdev)
{
	u32 class = pdev->class >> 8;

	return pdev->vendor == PCI_VENDOR_ID_NVIDIA &&
	       (class == PCI_CLASS_DISPLAY_VGA || class == PCI_CLASS_DISPLAY_3D ||
		class == PCI_CLASS_DISPLAY_OTHER);
}

static int map_and_read(struct lens_dev *dev)
{
	int err;

	err = pci_enable_device_mem(dev->pdev);
	if (err)
		return err;
	dev->bar0_len = pci_resource_len(dev->pdev, BAR0);
	if (!(pci_resource_flags(dev->pdev, BAR0) & IORESOURCE_MEM) ||
	    dev->bar0_len < 0x1000000) {
		err = -ENODEV;
		goto err_disable;
	}
	dev->bar0 = ioremap(pci_resource_start(dev->pdev, BAR0), dev->bar0_len);
	if (!dev->bar0) {
		err = -ENOMEM;
		goto err_disable;
	}
	dev->io.ops = &lens_mmio_ops;
	err = lens_gpu_identify(&dev->gpu, &dev->io);
	if (err) {
		if (err == -ENODEV)
			pci_info(dev->pdev, "gpulens: chip %#x (BOOT_0 %#x) is not known, left alone\n",
				 dev->gpu.chip_id, dev->gpu.boot0);
		goto err_unmap;
	}
	err = lens_gpu_read_topology(&dev->gpu);
	if (err)
		goto err_unmap;
	return 0;

err_unmap:
	iounmap(dev->bar0);
	dev->bar0 = NULL;
err_disable:
	pci_disable_device(dev->pdev);
	return err;
}

static void unmap(struct lens_dev *dev)
{
	mutex_lock(&dev->lock);
	if (!dev->gone) {
		dev->gone = true;
		iounmap(dev->bar0);
		dev->bar0 = NULL;
		pci_disable_device(dev->pdev);
	}
	mutex_unlock(&dev->lock);
}

/* An index below 0: the lowest free one. */
static int attach(struct pci_dev *pdev, int index)
{
	struct list_head *before = &lens_devices;
	struct lens_dev *dev, *other;
	int err;

	lockdep_assert_held(&lens_devices_lock);
	if (index < 0) {
		index = 0;
		list_for_each_entry(other, &lens_devices, link) {
			if (other->index != index)
				break;
			index++;
		}
	}
	list_for_each_entry(other, &lens_devices, link) {
		if (other->index > index) {
			before = &other->link;
			break;
		}
	}
	dev = kvzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	mutex_init(&dev->lock);
	dev->index = index;
	dev->pdev = pci_dev_get(pdev);
	strscpy(dev->where, pci_name(pdev), sizeof(dev->where));
	err = map_and_read(dev);
	if (err) {
		if (err != -ENODEV)
			pci_err(pdev, "gpulens: cannot read the GPU's topology: %d\n", err);
		goto err_put;
	}
	err = lens_proc_add(dev);
	if (err)
		goto err_unmap;
	list_add_tail(&dev->link, before);
	pci_info(pdev, "gpulens: %s is /proc/gpu%d\n", dev->gpu.name, dev->index);
	return 0;

err_unmap:
	unmap(dev);
err_put:
	pci_dev_put(pdev);
	kvfree(dev);
	return err;
}

static void detach(struct lens_dev *dev)
{
	lockdep_assert_held(&lens_devices_lock);
	/* Waits for readers and writers that are inside a file. */
	lens_proc_remove(dev);
	unmap(dev);
	list_del(&dev->link);
	pci_dev_put(dev->pdev);
	kvfree(dev);
}

struct candidate {
	struct list_head link;
	struct pci_dev *pdev;
};

static u64 address(const struct pci_dev *pdev)
{
	return (u64)pci_domain_nr(pdev->bus) << 16 | pci_dev_id((struct pci_dev *)pdev);
}

static void add_candidate(struct list_head *head, struct candidate *c)
{
	struct candidate *other;

	list_for_each_entry(other, head, link)
		if (address(other->pdev) > address(c->pdev))
			break;
	list_add_tail(&c->link, &other->link);
}

static struct lens_dev *at_address(const struct pci_dev *pdev)
{
	struct lens_dev *dev;

	list_for_each_entry(dev, &lens_devices, link)
		if (!strcmp(dev->where, pci_name(pdev)))
			return dev;
	return NULL;
}

/* A GPU came back to the address of one that went: it gets its number. */
static int attach_or_replace(struct pci_dev *pdev)
{
	struct lens_dev *old = at_address(pdev);
	int index = -1;

	if (old) {
		if (!old->gone)
			return 0;
		index = old->index;
		detach(old);
	}
	return attach(pdev, index);
}

/* Attach every GPU that is not yet attached, in order of PCI addresses. */
static int scan(void)
{
	struct candidate *c, *next;
	struct pci_dev *pdev = NULL;
	LIST_HEAD(candidates);
	int err = 0;

	while ((pdev = pci_get_device(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID, pdev))) {
		if (!is_gpu(pdev))
			continue;
		c = kzalloc(sizeof(*c), GFP_KERNEL);
		if (!c) {
			pci_dev_put(pdev);
			err = -ENOMEM;
			break;
		}
		c->pdev = pci_dev_get(pdev);
		add_candidate(&candidates, c);
	}
	mutex_lock(&lens_devices_lock);
	list_for_each_entry_safe(c, next, &candidates, link) {
		/* A GPU that cannot be read does not keep the others out; a taken name does. */
		if (!err && attach_or_replace(c->pdev) == -EEXIST)
			err = -EEXIST;
		pci_dev_put(c->pdev);
		kfree(c);
	}
	mutex_unlock(&lens_devices_lock);
	return err;
}

/*
 * A new device is announced before its BARs have addresses. Look again when the
 * bus has been scanned.
 */
#define SETTLE msecs_to_jiffies(500)

static void rescan(struct work_struct *work)
{
	scan();
}

static DECLARE_DELAYED_WORK(rescan_work, rescan);

static int bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);
	struct lens_dev *dev;

	if (action == BUS_NOTIFY_ADD_DEVICE && is_gpu(pdev)) {
		mod_delayed_work(system_wq, &rescan_work, SETTLE);
		return NOTIFY_OK;
	}
	if (action != BUS_NOTIFY_DEL_DEVICE || !is_gpu(pdev))
		return NOTIFY_DONE;
	mutex_lock(&lens_devices_lock);
	dev = at_address(pdev);
	if (dev && dev->pdev == pdev)
		unmap(dev);
	mutex_unlock(&lens_devices_lock);
	return NOTIFY_OK;
}

static struct notifier_block bus_notifier = {
	.notifier_call = bus_event,
};

void lens_pci_exit(void)
{
	struct lens_dev *dev, *next;

	bus_unregister_notifier(&pci_bus_type, &bus_notifier);
	cancel_delayed_work_sync(&rescan_work);
	mutex_lock(&lens_devices_lock);
	list_for_each_entry_safe(dev, next, &lens_devices, link)
		detach(dev);
	mutex_unlock(&lens_devices_lock);
}

int lens_pci_init(void)
{
	int err = bus_register_notifier(&pci_bus_type, &bus_notifier);

	if (err)
		return err;
	err = scan();
	if (err)
		lens_pci_exit();
	return err;
}
