// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: removes a PCI device once the PM core has suspended it and another one, from a
 * thread that is not frozen, as a hotplug controller does whose card was pulled out while the
 * machine slept.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/string.h>

static unsigned int slot = 4;
module_param(slot, uint, 0444);
MODULE_PARM_DESC(slot, "PCI device number on bus 0 (default 4)");

static unsigned int witness_slot = 5;
module_param(witness_slot, uint, 0444);
MODULE_PARM_DESC(witness_slot, "that of the other device (default 5)");

static bool removed;
module_param(removed, bool, 0444);
MODULE_PARM_DESC(removed, "whether it was removed");

static bool awake;
module_param(awake, bool, 0444);
MODULE_PARM_DESC(awake, "whether the other device had been resumed by then");

static struct task_struct *remover;
static struct pci_dev *victim, *witness;

/*
 * Linux 7.3's virtio_console does not learn after a sleep that the host's end is open: the port of
 * the guest's agent would take no answer, without gpulens, too. So it does not sleep.
 */
static int keep_awake(struct device *dev, void *awake)
{
	if (!strncmp(dev_driver_string(dev), "virtio-mmio", 11))
		dev_pm_syscore_device(dev, awake);
	return 0;
}

static int remove_when_suspended(void *arg)
{
	while (!(victim->dev.power.is_suspended && witness->dev.power.is_suspended) &&
	       !kthread_should_stop())
		usleep_range(100, 200);
	if (!kthread_should_stop()) {
		pci_stop_and_remove_bus_device_locked(victim);
		awake = !witness->dev.power.is_suspended;
		removed = true;
	}
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static int __init remover_init(void)
{
	int err = -ENODEV;

	victim = pci_get_domain_bus_and_slot(0, 0, PCI_DEVFN(slot, 0));
	witness = pci_get_domain_bus_and_slot(0, 0, PCI_DEVFN(witness_slot, 0));
	if (victim && witness) {
		bus_for_each_dev(&platform_bus_type, NULL, &removed, keep_awake);
		remover = kthread_run(remove_when_suspended, NULL, "remover");
		err = PTR_ERR_OR_ZERO(remover);
	}
	if (!err)
		return 0;
	pci_dev_put(victim);
	pci_dev_put(witness);
	return err;
}
module_init(remover_init);

static void __exit remover_exit(void)
{
	kthread_stop(remover);
	bus_for_each_dev(&platform_bus_type, NULL, NULL, keep_awake);
	pci_dev_put(victim);
	pci_dev_put(witness);
}
module_exit(remover_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: removes a device while the machine sleeps");
