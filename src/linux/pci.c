// SPDX-License-Identifier: GPL-2.0
/*
 * GPUs on PCI. The module is not a PCI driver: it maps BAR0 beside the GPU's driver, and never
 * enables, disables or wakes a device that has one. Devices assigned to a guest are not used.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "bus.h"
#include "device.h"
#include "devices.h"
#include "scan.h"

#define PCI_BAR0 0

static bool pci_is_gpu(const struct pci_dev *pdev)
{
	u32 class = pdev->class >> 8;

	/* A virtual function belongs to a guest. */
	return pdev->vendor == PCI_VENDOR_ID_NVIDIA && !pdev->is_virtfn &&
	       (class == PCI_CLASS_DISPLAY_VGA || class == PCI_CLASS_DISPLAY_3D ||
		class == PCI_CLASS_DISPLAY_OTHER);
}

/* Does its driver assign it to a guest or a program? Under device_lock() or in a bus event. */
static bool pci_is_assigned(const struct device *device)
{
	return lens_is_lent(device) ||
	       (device->driver && lens_driver_manages_dma(device));
}

static int pci_decodes_memory(struct pci_dev *pdev)
{
	u16 command;

	if (pci_read_config_word(pdev, PCI_COMMAND, &command) || command == 0xffff)
		return -ENODEV;
	return command & PCI_COMMAND_MEMORY ? 0 : -ENXIO;
}

/*
 * Enables memory decoding if it is off and no driver is bound. pci_disable_device() leaves decoding
 * on; without it, the enable count would keep a later driver from clearing bus mastering.
 */
static int pci_enable_decoding(struct pci_dev *pdev)
{
	int err = pci_decodes_memory(pdev);

	if (err != -ENXIO)
		return err;
	if (!device_trylock(&pdev->dev))
		return err;
	if (!pdev->dev.driver && !pci_enable_device_mem(pdev)) {
		pci_disable_device(pdev);
		err = pci_decodes_memory(pdev);
	}
	device_unlock(&pdev->dev);
	return err;
}

static int pci_map_bar0(struct lens_dev *dev)
{
	int err;

	if (!(pci_resource_flags(dev->pdev, PCI_BAR0) & IORESOURCE_MEM))
		return -EOPNOTSUPP;
	err = pci_enable_decoding(dev->pdev);
	if (err)
		return err;
	dev->bar0_start = pci_resource_start(dev->pdev, PCI_BAR0);
	dev->bar0_len = pci_resource_len(dev->pdev, PCI_BAR0);
	dev->bar0 = ioremap(dev->bar0_start, dev->bar0_len);
	return dev->bar0 ? 0 : -ENOMEM;
}

static void pci_unmap_bar0(struct lens_dev *dev)
{
	iounmap(dev->bar0);
}

/*
 * Keeps the device from being suspended until pci_put_use(). Without runtime power management
 * (-EINVAL, -EACCES) it is counted, too, so that the counts balance. -ENODATA: it is asleep, or has
 * no driver and may suspend (power/control is auto).
 */
static int pci_count_use(struct device *device)
{
	int err = pm_runtime_get_if_active(device);

	if (err == -EINVAL || err == -EACCES) {
		pm_runtime_get_noresume(device);
		return 0;
	}
	return err > 0 ? 0 : -ENODATA;
}

/* May BAR0 be accessed? On some servers, an access that nothing decodes is a fatal error. */
static int pci_check_access(struct lens_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;

	/* Some drivers suspend it without the PM core. */
	if (pdev->current_state != PCI_D0 && pdev->current_state != PCI_UNKNOWN)
		return -ENODATA;
	if (pci_channel_offline(pdev))
		return -EIO;
	if (pci_resource_start(pdev, PCI_BAR0) != dev->bar0_start)
		return -ENXIO;
	return pci_decodes_memory(pdev);
}

static int pci_get_use(struct lens_dev *dev)
{
	int err = pci_count_use(dev->device);

	if (err)
		return err;
	err = pci_check_access(dev);
	if (err)
		pm_runtime_put_noidle(dev->device);
	return err;
}

/* Not marked as busy, which would keep it awake for longer. */
static void pci_put_use(struct lens_dev *dev)
{
	pm_runtime_put(dev->device);
}

static const struct lens_bus lens_pci_bus = {
	.map = pci_map_bar0,
	.unmap = pci_unmap_bar0,
	.get = pci_get_use,
	.put = pci_put_use,
};

/* -- finding GPUs -- */

struct pci_candidate {
	struct list_head link;
	struct pci_dev *pdev;
};

static u64 pci_get_address(const struct pci_dev *pdev)
{
	return (u64)pci_domain_nr(pdev->bus) << 16 | pci_dev_id((struct pci_dev *)pdev);
}

static void pci_add_candidate(struct list_head *head, struct pci_candidate *c)
{
	struct pci_candidate *other;

	list_for_each_entry(other, head, link)
		if (pci_get_address(other->pdev) > pci_get_address(c->pdev))
			break;
	list_add_tail(&c->link, &other->link);
}

/* 0: attached, or not a GPU to attach; -EAGAIN: try again later; -EBUSY: its name is taken. */
static int pci_attach_candidate(struct pci_dev *pdev, bool quiet)
{
	int err;

	/* Held while a driver is bound or unbound, which is followed by an event. */
	if (!device_trylock(&pdev->dev))
		return -EAGAIN;
	if (pci_is_assigned(&pdev->dev)) {
		if (!quiet)
			pr_info("%s: not used: driver %s assigns it to a guest or a program\n",
				pci_name(pdev), pdev->dev.driver->name);
		device_unlock(&pdev->dev);
		return 0;
	}
	device_unlock(&pdev->dev);
	err = lens_attach_device(&lens_pci_bus, &pdev->dev, quiet);
	if (err == -EBUSY || !err)
		return err;
	return err == -EOPNOTSUPP ? 0 : -EAGAIN;
}

/*
 * Attaches every GPU in order of PCI addresses. Under the rescan lock, a new device has addresses
 * in its BARs, and no device is removed before it is attached.
 */
static int pci_attach_all(bool quiet, bool *again)
{
	struct pci_candidate *c, *next;
	struct pci_dev *pdev = NULL;
	LIST_HEAD(candidates);
	int err = 0, result;

	*again = false;
	pci_lock_rescan_remove();
	while ((pdev = pci_get_device(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID, pdev))) {
		if (!pci_is_gpu(pdev))
			continue;
		c = kzalloc(sizeof(*c), GFP_KERNEL);
		if (!c) {
			pci_dev_put(pdev);
			err = -ENOMEM;
			break;
		}
		c->pdev = pci_dev_get(pdev);
		pci_add_candidate(&candidates, c);
	}
	mutex_lock(&lens_devices_lock);
	list_for_each_entry_safe(c, next, &candidates, link) {
		/* After a taken name no GPU is attached; other errors concern one GPU. */
		result = err ? 0 : pci_attach_candidate(c->pdev, quiet);
		if (result == -EBUSY)
			err = result;
		*again |= result == -EAGAIN;
		pci_dev_put(c->pdev);
		kfree(c);
	}
	mutex_unlock(&lens_devices_lock);
	pci_unlock_rescan_remove();
	return err;
}

/* settle_ms: a new device is announced before its BARs have addresses, with the bus locked. */
static struct lens_scan pci_scan = {
	.attach_all = pci_attach_all,
	.settle_ms = 500,
	.first_ms = 1000,
	.last_ms = 64000,
};

static int pci_handle_bus_event(struct notifier_block *nb, unsigned long action, void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (!pci_is_gpu(pdev))
		return NOTIFY_DONE;
	switch (action) {
	case BUS_NOTIFY_BIND_DRIVER:
		/* Before the driver accesses the device. */
		if (pci_is_assigned(&pdev->dev))
			lens_unmap_device(&pdev->dev);
		break;
	case BUS_NOTIFY_UNBIND_DRIVER:
		lens_release_device(&pdev->dev);
		break;
	case BUS_NOTIFY_UNBOUND_DRIVER:
		lens_device_is_free(&pdev->dev);
		lens_scan_schedule(&pci_scan);
		break;
	case BUS_NOTIFY_ADD_DEVICE:
	case BUS_NOTIFY_BOUND_DRIVER:
		lens_scan_schedule(&pci_scan);
		break;
	case BUS_NOTIFY_DEL_DEVICE:
		lens_unmap_device(&pdev->dev);
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block pci_bus_notifier = {
	.notifier_call = pci_handle_bus_event,
};

void lens_pci_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &pci_bus_notifier);
	lens_scan_stop(&pci_scan);
}

int lens_pci_init(void)
{
	int err;

	lens_scan_init(&pci_scan);
	err = bus_register_notifier(&pci_bus_type, &pci_bus_notifier);
	if (err)
		return err;
	err = lens_scan_start(&pci_scan);
	if (err)
		lens_pci_exit();
	return err;
}
