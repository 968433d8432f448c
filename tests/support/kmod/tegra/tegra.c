// SPDX-License-Identifier: GPL-2.0
/*
 * A test module that makes a PC look like a Tegra: for each emulated GPU on PCI
 * (its carrier) it registers a platform device, named as the device tree nodes of
 * the Tegras' kernels are, whose first memory resource is the carrier's BAR0. Its
 * driver plays nvgpu's part in power management (linux-nvgpu os/linux/module.c):
 * runtime PM with autosuspend, asleep until somebody asks.
 *
 * While such a device is asleep and gate= is set, its BAR0 does not answer: reads
 * give all ones, as on a bus without an answer. With gate=0 it goes on to answer,
 * so that the emulator counts who touches it.
 *
 * Writing a device's index to cycle takes it away and registers it anew.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#define MAX_GPUS 4

static char *carriers[MAX_GPUS];
static unsigned int nr_carriers;
module_param_array(carriers, charp, &nr_carriers, 0444);
MODULE_PARM_DESC(carriers, "PCI addresses, e.g. 0000:00:04.0,0000:00:05.0");

static char *names[MAX_GPUS];
static unsigned int nr_names;
module_param_array(names, charp, &nr_names, 0444);
MODULE_PARM_DESC(names, "name of the platform device on each carrier, e.g. 17000000.ga10b");

static int delay;
module_param(delay, int, 0444);
MODULE_PARM_DESC(delay, "milliseconds from the last use to sleep (default 0)");

static bool pm = true;
module_param(pm, bool, 0444);
MODULE_PARM_DESC(pm, "whether the driver manages power at run time (default 1); else its devices are awake");

static bool gate = true;
module_param(gate, bool, 0644);
MODULE_PARM_DESC(gate, "whether BAR0 stops answering at the next sleep (default 1)");

static uint resumes[MAX_GPUS];
module_param_array(resumes, uint, NULL, 0444);
MODULE_PARM_DESC(resumes, "how often each woke up");

static uint suspends[MAX_GPUS];
module_param_array(suspends, uint, NULL, 0444);
MODULE_PARM_DESC(suspends, "how often each went to sleep");

static uint asleep[MAX_GPUS];
module_param_array(asleep, uint, NULL, 0444);
MODULE_PARM_DESC(asleep, "1 for each that sleeps");

static bool refuse;

static struct pci_dev *pdevs[MAX_GPUS];
static struct platform_device *gpus[MAX_GPUS];
static DEFINE_MUTEX(gpus_lock);

static void answer(u32 i, bool on)
{
	u16 command;

	pci_read_config_word(pdevs[i], PCI_COMMAND, &command);
	command = on ? command | PCI_COMMAND_MEMORY : command & ~PCI_COMMAND_MEMORY;
	pci_write_config_word(pdevs[i], PCI_COMMAND, command);
}

static u32 index_of(struct device *dev)
{
	return *(u32 *)dev_get_platdata(dev);
}

static int tegra_runtime_suspend(struct device *dev)
{
	u32 i = index_of(dev);

	suspends[i]++;
	asleep[i] = 1;
	if (gate)
		answer(i, false);
	return 0;
}

static int tegra_runtime_resume(struct device *dev)
{
	u32 i = index_of(dev);

	if (refuse)
		return -EIO;
	resumes[i]++;
	asleep[i] = 0;
	answer(i, true);
	return 0;
}

static const struct dev_pm_ops tegra_pm_ops = {
	SET_RUNTIME_PM_OPS(tegra_runtime_suspend, tegra_runtime_resume, NULL)
};

/*
 * As after nvgpu: whoever touches it now gets no answer. Not .remove, whose type
 * differs between kernels.
 */
static void tegra_leave(void *dev)
{
	u32 i = index_of(dev);

	if (pm) {
		pm_runtime_dont_use_autosuspend(dev);
		pm_runtime_disable(dev);
	}
	asleep[i] = 1;
	if (gate)
		answer(i, false);
}

static int tegra_probe(struct platform_device *gpu)
{
	u32 i = index_of(&gpu->dev);

	asleep[i] = pm;
	answer(i, !pm || !gate);
	if (pm) {
		pm_runtime_set_autosuspend_delay(&gpu->dev, delay);
		pm_runtime_use_autosuspend(&gpu->dev);
		pm_runtime_enable(&gpu->dev);
	}
	return devm_add_action_or_reset(&gpu->dev, tegra_leave, &gpu->dev);
}

static const struct platform_device_id tegra_ids[] = {
	{ "57000000.gpu" },
	{ "17000000.gpu" },
	{ "17000000.gp10b" },
	{ "17000000.gv11b" },
	{ "17000000.ga10b" },
	{ }
};

static struct platform_driver tegra_driver = {
	.probe = tegra_probe,
	.id_table = tegra_ids,
	.driver = {
		.name = "tegra-test",
		.pm = &tegra_pm_ops,
	},
};

static int add(u32 i)
{
	/* Below the BAR, so that both keep their place among the resources. */
	struct resource bar = {
		.start = pci_resource_start(pdevs[i], 0),
		.end = pci_resource_end(pdevs[i], 0),
		.flags = IORESOURCE_MEM,
		.parent = &pdevs[i]->resource[0],
	};
	struct platform_device *gpu = platform_device_alloc(names[i], PLATFORM_DEVID_NONE);
	int err;

	if (!gpu)
		return -ENOMEM;
	err = platform_device_add_resources(gpu, &bar, 1);
	if (!err)
		err = platform_device_add_data(gpu, &i, sizeof(i));
	if (!err)
		err = platform_device_add(gpu);
	if (err) {
		platform_device_put(gpu);
		return err;
	}
	gpus[i] = gpu;
	return 0;
}

static void take(u32 i)
{
	if (gpus[i])
		platform_device_unregister(gpus[i]);
	gpus[i] = NULL;
}

static int set_cycle(const char *text, const struct kernel_param *kp)
{
	u32 i;
	int err = kstrtou32(text, 0, &i);

	if (err || i >= nr_names)
		return -EINVAL;
	mutex_lock(&gpus_lock);
	take(i);
	err = add(i);
	mutex_unlock(&gpus_lock);
	return err;
}

static const struct kernel_param_ops cycle_ops = {
	.set = set_cycle,
};

module_param_cb(cycle, &cycle_ops, NULL, 0200);
MODULE_PARM_DESC(cycle, "index of a device: take it away and register it anew");

/* The kernel remembers that waking up failed until the driver says that it is over. */
static int set_refuse(const char *text, const struct kernel_param *kp)
{
	int err = param_set_bool(text, kp);
	u32 i;

	mutex_lock(&gpus_lock);
	for (i = 0; !err && !refuse && i < nr_names; i++)
		if (gpus[i] && asleep[i])
			pm_runtime_set_suspended(&gpus[i]->dev);
	mutex_unlock(&gpus_lock);
	return err;
}

static const struct kernel_param_ops refuse_ops = {
	.set = set_refuse,
	.get = param_get_bool,
};

module_param_cb(refuse, &refuse_ops, &refuse, 0644);
MODULE_PARM_DESC(refuse, "whether waking up fails (default 0)");

static int find(u32 i)
{
	unsigned int domain, bus, slot, func;

	if (sscanf(carriers[i], "%x:%x:%x.%x", &domain, &bus, &slot, &func) != 4)
		return -EINVAL;
	pdevs[i] = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, func));
	if (!pdevs[i])
		return -ENODEV;
	return pci_enable_device_mem(pdevs[i]);
}

static void forget(void)
{
	u32 i;

	for (i = 0; i < nr_carriers; i++) {
		take(i);
		if (pdevs[i])
			answer(i, true);
		pci_dev_put(pdevs[i]);
	}
}

static int __init tegra_init(void)
{
	int err;
	u32 i;

	if (!nr_carriers || nr_carriers != nr_names)
		return -EINVAL;
	err = platform_driver_register(&tegra_driver);
	if (err)
		return err;
	for (i = 0; !err && i < nr_carriers; i++)
		err = find(i);
	for (i = 0; !err && i < nr_carriers; i++)
		err = add(i);
	if (err) {
		forget();
		platform_driver_unregister(&tegra_driver);
	}
	return err;
}
module_init(tegra_init);

static void __exit tegra_exit(void)
{
	forget();
	platform_driver_unregister(&tegra_driver);
}
module_exit(tegra_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: platform devices of Tegras over emulated GPUs");
