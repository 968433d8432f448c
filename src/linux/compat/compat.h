/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Supplies what older kernels lack, as the newest kernel has it. probe.mk defines LENS_HAVE_*.
 * Oldest kernel tested: 5.10; newest: 7.3 (docs/results/).
 */
#ifndef _LENS_COMPAT_H_
#define _LENS_COMPAT_H_

#include <linux/fs_struct.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/proc_fs.h>

#ifndef LENS_HAVE_INIT_FS
/* For 7.3, whose kernel threads start with an empty root; those of 6.12 have the system's. */
#define scoped_with_init_fs()
#endif

#ifndef LENS_HAVE_PDE_DATA
/* Since 5.17: 359745d78351 ("proc: remove PDE_DATA() completely"). */
static inline void *pde_data(const struct inode *inode)
{
	return PDE_DATA(inode);
}
#endif

#ifndef LENS_HAVE_PM_RUNTIME_GET_IF_ACTIVE
/* Since 6.9: c0ef3df8dbae ("PM: runtime: Simplify pm_runtime_get_if_active() usage"). */
#define pm_runtime_get_if_active(dev) pm_runtime_get_if_active(dev, true)
#endif

/* Does the driver let a user or a guest translate the device's DMA? Under device_lock(). */
static inline bool lens_driver_manages_dma(const struct device *device)
{
#ifdef LENS_HAVE_DRIVER_MANAGED_DMA
	return dev_is_pci(device) ? to_pci_driver(device->driver)->driver_managed_dma :
	       to_platform_driver(device->driver)->driver_managed_dma;
#else
	/* Since 5.19: 512881eacfa7 ("bus: platform,amba,fsl-mc,PCI: Add device DMA ownership"). */
	return strstr(device->driver->name, "vfio");
#endif
}

#endif
