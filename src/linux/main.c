// SPDX-License-Identifier: GPL-2.0
/*
 * The module: its start and end, and what it traces. Finding GPUs is pci.c and platform.c,
 * the list of GPUs devices.c, register access mmio.c, permissions permission.c; the files
 * are procfs/.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/uidgid.h>

#include "lens.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

int lens_gid = -1;
module_param_named(gid, lens_gid, int, 0444);
MODULE_PARM_DESC(gid, "group whose members may open runlists, snapshot and bars; they need CAP_PERFMON or CAP_SYS_ADMIN as well; -1: no group (default)");

bool lens_vram = true;
static char *vram = "on";
module_param(vram, charp, 0444);
MODULE_PARM_DESC(vram,
		 "on (default) or off: whether GPU memory may be read through the PRAMIN window, which stops all processors for each piece; without it runlists cannot be shown");

void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result)
{
	trace_control(dev->index, action, runlist, id, result);
}

static int __init lens_check_parameters(void)
{
	if (!strcmp(vram, "off"))
		lens_vram = false;
	else if (strcmp(vram, "on"))
		return -EINVAL;
	if (lens_gid < -1 || (lens_gid >= 0 && !gid_valid(make_kgid(&init_user_ns, lens_gid))))
		return -EINVAL;
	return 0;
}

static int __init lens_init(void)
{
	int err = lens_check_parameters();

	if (err)
		return err;
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

MODULE_DESCRIPTION("Shows and controls how NVIDIA GPUs schedule work");
MODULE_VERSION(LENS_VERSION);
MODULE_AUTHOR("gpulens developers");
MODULE_LICENSE("GPL");
