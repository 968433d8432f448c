// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: removes a PCI device once the PM core has suspended it, from a thread that is not
 * frozen, as a hotplug controller does whose card was pulled out while the machine slept.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/suspend.h>

static unsigned int slot = 4;
module_param(slot, uint, 0444);
MODULE_PARM_DESC(slot, "PCI device number on bus 0 (default 4)");

static bool removed;
module_param(removed, bool, 0444);
MODULE_PARM_DESC(removed, "whether it was removed");

static bool awake;
module_param(awake, bool, 0444);
MODULE_PARM_DESC(awake, "whether the machine had woken before that");

static atomic_t resumed;

static int note_event(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == PM_POST_SUSPEND)
		atomic_set(&resumed, 1);
	return NOTIFY_DONE;
}

static struct notifier_block pm_notifier = {
	.notifier_call = note_event,
};

static int remove_when_suspended(void *arg)
{
	struct pci_dev *pdev = arg;

	while (!pdev->dev.power.is_suspended && !kthread_should_stop())
		usleep_range(100, 200);
	if (!kthread_should_stop()) {
		pci_stop_and_remove_bus_device_locked(pdev);
		awake = atomic_read(&resumed);
		removed = true;
	}
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static struct task_struct *remover;
static struct pci_dev *victim;

static int __init remover_init(void)
{
	int err;

	victim = pci_get_domain_bus_and_slot(0, 0, PCI_DEVFN(slot, 0));
	if (!victim)
		return -ENODEV;
	err = register_pm_notifier(&pm_notifier);
	if (err)
		goto err_put;
	remover = kthread_run(remove_when_suspended, victim, "remover");
	err = PTR_ERR_OR_ZERO(remover);
	if (err)
		goto err_unregister;
	return 0;

err_unregister:
	unregister_pm_notifier(&pm_notifier);
err_put:
	pci_dev_put(victim);
	return err;
}
module_init(remover_init);

static void __exit remover_exit(void)
{
	kthread_stop(remover);
	unregister_pm_notifier(&pm_notifier);
	pci_dev_put(victim);
}
module_exit(remover_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: removes a device while the machine sleeps");
