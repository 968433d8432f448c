// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: a driver of NVIDIA's GPUs on PCI that does nothing but power
 * management at run time, as a graphics driver's does it (nouveau, or NVIDIA's
 * with NVreg_DynamicPowerManagement): a GPU that nobody uses goes to D3hot.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>

static int delay;
module_param(delay, int, 0444);
MODULE_PARM_DESC(delay, "milliseconds from the last use to sleep (default 0)");

static bool refuse;
module_param(refuse, bool, 0644);
MODULE_PARM_DESC(refuse, "whether waking up fails (default 0)");

static bool direct;
module_param(direct, bool, 0444);
MODULE_PARM_DESC(direct, "sleep always, behind the back of the kernel's power management, as vfio-pci did (default 0)");

static atomic_t resumes = ATOMIC_INIT(0);

static int get_resumes(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%d\n", atomic_read(&resumes));
}

static const struct kernel_param_ops resumes_ops = {
	.get = get_resumes,
};

module_param_cb(resumes, &resumes_ops, NULL, 0444);
MODULE_PARM_DESC(resumes, "how often GPUs were woken, all together");

static int sleeper_suspend(struct device *dev)
{
	return 0;
}

static int sleeper_resume(struct device *dev)
{
	if (refuse)
		return -EIO;
	atomic_inc(&resumes);
	return 0;
}

static const struct dev_pm_ops sleeper_pm_ops = {
	SET_RUNTIME_PM_OPS(sleeper_suspend, sleeper_resume, NULL)
};

static int sleeper_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int err = pcim_enable_device(pdev);

	if (err)
		return err;
	if (direct)
		return pci_set_power_state(pdev, PCI_D3hot);
	pm_runtime_set_autosuspend_delay(&pdev->dev, delay);
	pm_runtime_use_autosuspend(&pdev->dev);
	pm_runtime_allow(&pdev->dev);
	pm_runtime_mark_last_busy(&pdev->dev);
	pm_runtime_put_autosuspend(&pdev->dev);
	return 0;
}

static void sleeper_remove(struct pci_dev *pdev)
{
	if (direct) {
		pci_set_power_state(pdev, PCI_D0);
		return;
	}
	pm_runtime_get_sync(&pdev->dev);
	pm_runtime_forbid(&pdev->dev);
	pm_runtime_dont_use_autosuspend(&pdev->dev);
	/* The kernel remembers that waking failed until it is told the state. */
	if (pdev->dev.power.runtime_error) {
		pm_runtime_disable(&pdev->dev);
		pci_set_power_state(pdev, PCI_D0);
		pm_runtime_set_active(&pdev->dev);
		pm_runtime_enable(&pdev->dev);
	}
}

static const struct pci_device_id sleeper_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID) },
	{ }
};

static struct pci_driver sleeper_driver = {
	.name = "sleeper",
	.id_table = sleeper_ids,
	.probe = sleeper_probe,
	.remove = sleeper_remove,
	.driver.pm = &sleeper_pm_ops,
};
module_pci_driver(sleeper_driver);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: a GPU driver with power management at run time");
