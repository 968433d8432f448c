// SPDX-License-Identifier: GPL-2.0
/*
 * GPUs on PCI. The module is not a PCI driver: another one usually is, and stays.
 * It keeps a reference on each display device of NVIDIA, maps BAR0 beside the
 * driver, and hears of added and removed devices from the bus.
 */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "compat/compat.h"
#include "lens.h"

#define BAR0 0

static bool is_gpu(const struct pci_dev *pdev)
{
	u32 class = pdev->class >> 8;

	return pdev->vendor == PCI_VENDOR_ID_NVIDIA &&
	       (class == PCI_CLASS_DISPLAY_VGA || class == PCI_CLASS_DISPLAY_3D ||
		class == PCI_CLASS_DISPLAY_OTHER);
}

static int pci_map(struct lens_dev *dev)
{
	int err = pci_enable_device_mem(dev->pdev);

	if (err)
		return err;
	err = -ENODEV;
	if (!(pci_resource_flags(dev->pdev, BAR0) & IORESOURCE_MEM))
		goto err_disable;
	err = -ENOMEM;
	dev->bar0_len = pci_resource_len(dev->pdev, BAR0);
	dev->bar0 = ioremap(pci_resource_start(dev->pdev, BAR0), dev->bar0_len);
	if (!dev->bar0)
		goto err_disable;
	return 0;

err_disable:
	pci_disable_device(dev->pdev);
	return err;
}

static void pci_unmap(struct lens_dev *dev)
{
	iounmap(dev->bar0);
	pci_disable_device(dev->pdev);
}

/*
 * A use is counted, so that the driver does not put it to sleep meanwhile, and
 * where its power is not managed at run time (-EINVAL, -EACCES), so that put fits.
 * A GPU without a driver counts as asleep when it may be (power/control says
 * auto), though only its bridge is then.
 */
static int use(struct device *device, bool wake)
{
	int err = wake ? pm_runtime_resume_and_get(device) : pm_runtime_get_if_active(device);

	if (err == -EINVAL || err == -EACCES) {
		pm_runtime_get_noresume(device);
		return 0;
	}
	if (wake)
		return err ? -ENODEV : 0;
	return err > 0 ? 0 : -EAGAIN;
}

static int pci_get(struct lens_dev *dev, bool wake)
{
	int err = use(dev->device, wake);

	if (err)
		return err;
	/* Some drivers put it to sleep by themselves (vfio-pci), and only they wake it. */
	if (dev->pdev->current_state != PCI_D0 && dev->pdev->current_state != PCI_UNKNOWN)
		err = -EAGAIN;
	/* Awake, so that this wakes nothing. It may have fallen off the bus. */
	else if (!pci_device_is_present(dev->pdev))
		err = -ENODEV;
	if (err)
		pm_runtime_put_noidle(dev->device);
	return err;
}

/* Not marked as busy: who only looks does not keep it awake for longer. */
static void pci_put(struct lens_dev *dev)
{
	pm_runtime_put(dev->device);
}

static const struct lens_bus pci_bus = {
	.map = pci_map,
	.unmap = pci_unmap,
	.get = pci_get,
	.put = pci_put,
};

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

/*
 * Attach every GPU that is not yet attached, in order of PCI addresses. The bus
 * does not change meanwhile: a GPU that was found before its BARs had addresses
 * could not be read, and nobody would look again; one that is removed before its
 * turn would be attached after it was said to have gone, and never be let go.
 */
static int scan(void)
{
	struct candidate *c, *next;
	struct pci_dev *pdev = NULL;
	LIST_HEAD(candidates);
	int err = 0;

	pci_lock_rescan_remove();
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
		if (!err && lens_attach(&pci_bus, &c->pdev->dev) == -EBUSY)
			err = -EBUSY;
		pci_dev_put(c->pdev);
		kfree(c);
	}
	mutex_unlock(&lens_devices_lock);
	pci_unlock_rescan_remove();
	return err;
}

/*
 * A new device is announced before its BARs have addresses, with the bus locked.
 * Look again when it has been scanned.
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

	if (!is_gpu(pdev))
		return NOTIFY_DONE;
	if (action == BUS_NOTIFY_ADD_DEVICE)
		mod_delayed_work(system_power_efficient_wq, &rescan_work, SETTLE);
	else if (action == BUS_NOTIFY_DEL_DEVICE)
		lens_device_gone(&pdev->dev);
	return NOTIFY_OK;
}

static struct notifier_block bus_notifier = {
	.notifier_call = bus_event,
};

void lens_pci_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &bus_notifier);
	cancel_delayed_work_sync(&rescan_work);
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
