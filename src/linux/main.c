// SPDX-License-Identifier: GPL-2.0
/*
 * Init and exit of the module. Connects the parts, which do not use this file: pci.c and
 * platform.c find GPUs, devices.c lists them, procfs/ shows them.
 */
#include <linux/module.h>

#include "../../procfs/files.h"
#include "bus.h"
#include "devices.h"
#include "permission.h"
#include "stop.h"

static const struct lens_devices_listener main_proc_listener = {
	.add = lens_proc_add_gpu,
	.remove = lens_proc_remove_gpu,
	.report_users = lens_proc_report_users,
};

static int __init main_init(void)
{
	int err = lens_permission_init();

	if (!err)
		err = lens_stop_init();
	if (!err)
		err = lens_devices_init(&main_proc_listener);
	if (err)
		return err;
	/* First, so that a Tegra's integrated GPU is number 0. */
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
	lens_devices_exit();
	return err;
}
module_init(main_init);

static void __exit main_exit(void)
{
	lens_pci_exit();
	lens_platform_exit();
	lens_devices_exit();
}
module_exit(main_exit);

MODULE_DESCRIPTION("Shows and controls how NVIDIA GPUs schedule work");
MODULE_VERSION(LENS_VERSION);
MODULE_AUTHOR("gpulens developers");
MODULE_LICENSE("GPL");
