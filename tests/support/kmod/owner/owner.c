// SPDX-License-Identifier: GPL-2.0
/*
 * A test module: a driver of NVIDIA's GPUs on PCI that enables its device, makes it bus
 * master, and disables it when it is unbound, as nouveau and NVIDIA's driver do. Nothing
 * else: what the device is left as is then its doing alone.
 */
#include <linux/module.h>
#include <linux/pci.h>

static bool managed;
module_param(managed, bool, 0444);
MODULE_PARM_DESC(managed, "enable with pcim_enable_device() (default 0)");

static struct pci_dev *owned[8];
static unsigned int n_owned;

static int set_frozen(const char *text, const struct kernel_param *kp)
{
	bool frozen;
	unsigned int i;
	int err = kstrtobool(text, &frozen);

	if (err)
		return err;
	/* What the PCI core sets while it handles an uncorrectable error (AER, EEH). */
	for (i = 0; i < n_owned; i++)
		owned[i]->error_state = frozen ? pci_channel_io_frozen : pci_channel_io_normal;
	return 0;
}

static const struct kernel_param_ops frozen_ops = {
	.set = set_frozen,
};

module_param_cb(frozen, &frozen_ops, NULL, 0200);
MODULE_PARM_DESC(frozen, "whether the devices' error recovery is under way");

static int owner_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int err = managed ? pcim_enable_device(pdev) : pci_enable_device(pdev);

	if (err)
		return err;
	pci_set_master(pdev);
	if (n_owned < ARRAY_SIZE(owned))
		owned[n_owned++] = pdev;
	return 0;
}

static void owner_remove(struct pci_dev *pdev)
{
	n_owned = 0;
	if (!managed)
		pci_disable_device(pdev);
}

static const struct pci_device_id owner_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID) },
	{ }
};

static struct pci_driver owner_driver = {
	.name = "owner",
	.id_table = owner_ids,
	.probe = owner_probe,
	.remove = owner_remove,
};
module_pci_driver(owner_driver);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test: a GPU driver that enables and disables its device");
