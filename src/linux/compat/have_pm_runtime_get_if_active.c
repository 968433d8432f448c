// SPDX-License-Identifier: GPL-2.0
/* Not part of the module: probe.mk tests whether this compiles. */
#include <linux/pm_runtime.h>

int have_pm_runtime_get_if_active(struct device *dev);

int have_pm_runtime_get_if_active(struct device *dev)
{
	return pm_runtime_get_if_active(dev);
}
