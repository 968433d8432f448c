/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernels differ in, as the newest has it: the module's other files are
 * written for that one and hold no trace of a version. LENS_HAVE_* come from
 * probe.mk, which tries.
 *
 * Oldest kernel tried: 5.10; newest: 7.3 (docs/testing.md).
 */
#ifndef LENS_COMPAT_H
#define LENS_COMPAT_H

#include <linux/pm_runtime.h>
#include <linux/proc_fs.h>

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

#endif
