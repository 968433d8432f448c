// SPDX-License-Identifier: GPL-2.0
/*
 * The module: parameters, who may do what, borrowing a GPU, start and end.
 * Finding GPUs is pci.c, touching them mmio.c, the files are procfs/.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/ktime.h>
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

static uint timeout_ms = LENS_TIMEOUT_MS;
module_param(timeout_ms, uint, 0644);
MODULE_PARM_DESC(timeout_ms, "longest time that one reading or writing of a file may take before it ends with ETIMEDOUT (default 20000)");

int lens_dev_begin(struct lens_dev *dev, bool wake, u32 ms)
{
	int err = dev->gone ? -ENODEV : dev->bus->get(dev, wake);

	dev->late = false;
	dev->until = ktime_get_ns() + (u64)ms * NSEC_PER_MSEC;
	return err;
}

int lens_dev_end(struct lens_dev *dev, int result)
{
	/* It may have gone while it was waited for; it was counted as used all the same. */
	dev->bus->put(dev);
	return dev->late ? -ETIMEDOUT : result;
}

static int get(struct lens_dev *dev, bool wake)
{
	int err = mutex_lock_interruptible(&dev->lock);

	if (err)
		return err;
	err = lens_dev_begin(dev, wake, READ_ONCE(timeout_ms));
	if (err)
		mutex_unlock(&dev->lock);
	return err;
}

int lens_dev_get(struct lens_dev *dev)
{
	return get(dev, false);
}

int lens_dev_put(struct lens_dev *dev, int result)
{
	result = lens_dev_end(dev, result);
	mutex_unlock(&dev->lock);
	return result;
}

int lens_dev_steer(struct lens_dev *dev)
{
	int err = mutex_lock_interruptible(&dev->steering);

	if (err)
		return err;
	err = get(dev, true);
	if (err)
		mutex_unlock(&dev->steering);
	return err;
}

int lens_dev_unsteer(struct lens_dev *dev, int result)
{
	result = lens_dev_put(dev, result);
	mutex_unlock(&dev->steering);
	return result;
}

int lens_dev_check(struct lens_dev *dev)
{
	int err = dev->gone ? -ENODEV : dev->bus->get(dev, false);

	/* One use more, and one less: it is counted as used since lens_dev_get(). */
	if (!err)
		dev->bus->put(dev);
	return err;
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

bool lens_may_see_raw(const struct file *file)
{
	return admin(file) && !security_locked_down(LOCKDOWN_PCI_ACCESS);
}

bool lens_may_sample(const struct file *file)
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
	int err;

	if (!strcmp(vram, "off"))
		lens_vram = false;
	else if (strcmp(vram, "on"))
		return -EINVAL;
	/* A Tegra's own GPU gets number 0. */
	err = lens_platform_init();
	if (err)
		goto err_detach;
	err = lens_pci_init();
	if (err)
		goto err_platform;
	return 0;

err_platform:
	lens_platform_exit();
err_detach:
	lens_detach_all();
	return err;
}
module_init(lens_init);

static void __exit lens_exit(void)
{
	lens_pci_exit();
	lens_platform_exit();
	lens_detach_all();
}
module_exit(lens_exit);

MODULE_DESCRIPTION("Shows and steers how NVIDIA GPUs schedule work");
MODULE_VERSION(LENS_VERSION);
MODULE_LICENSE("GPL");
