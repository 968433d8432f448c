// SPDX-License-Identifier: GPL-2.0
/*
 * The module: parameters, who may do what, borrowing a GPU, start and end.
 * Finding GPUs is pci.c, touching them mmio.c, the files are procfs/.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/security.h>

#include "lens.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

bool lens_control = true;
module_param_named(control, lens_control, bool, 0444);
MODULE_PARM_DESC(control, "allow the files that steer the GPU (default 1); 0 refuses every write with EACCES");

int lens_gid = -1;
module_param_named(gid, lens_gid, int, 0444);
MODULE_PARM_DESC(gid, "only this group, and root, may read; -1 lets everybody (default)");

bool lens_vram = true;
static char *vram = "on";
module_param(vram, charp, 0444);
MODULE_PARM_DESC(vram,
		 "on (default) or off: whether GPU memory may be read through the PRAMIN window, which stops all processors for each piece; without it runlists cannot be shown");

int lens_dev_get(struct lens_dev *dev)
{
	int err = mutex_lock_interruptible(&dev->lock);

	if (err)
		return err;
	if (dev->gone)
		goto err_gone;
	/* Asleep, or fallen off the bus: found out without touching a BAR. */
	if (dev->pdev && (dev->pdev->current_state == PCI_D3hot ||
			  dev->pdev->current_state == PCI_D3cold ||
			  !pci_device_is_present(dev->pdev)))
		goto err_gone;
	return 0;

err_gone:
	mutex_unlock(&dev->lock);
	return -ENODEV;
}

void lens_dev_put(struct lens_dev *dev)
{
	mutex_unlock(&dev->lock);
}

/* Both: the opener, so that no open file lends its power, and the one who writes. */
static bool admin(const struct file *file)
{
	return file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN) && capable(CAP_SYS_ADMIN);
}

int lens_may_control(const struct file *file)
{
	if (!admin(file) || security_locked_down(LOCKDOWN_PCI_ACCESS))
		return -EPERM;
	return lens_control ? 0 : -EACCES;
}

bool lens_may_see_addresses(const struct file *file)
{
	return admin(file);
}

void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result)
{
	trace_control(dev->index, action, runlist, id, result);
}

static int __init lens_init(void)
{
	if (!strcmp(vram, "off"))
		lens_vram = false;
	else if (strcmp(vram, "on"))
		return -EINVAL;
	return lens_pci_init();
}
module_init(lens_init);

static void __exit lens_exit(void)
{
	lens_pci_exit();
}
module_exit(lens_exit);

MODULE_DESCRIPTION("Shows and steers how NVIDIA GPUs schedule work");
MODULE_LICENSE("GPL");
