// SPDX-License-Identifier: GPL-2.0
/* Not compiled into anything: whether this compiles is the question. See probe.mk. */
#include <linux/pm_runtime.h>

int have_pm_runtime_get_if_active(struct device *dev);

int have_pm_runtime_get_if_active(struct device *dev)
{
	return pm_runtime_get_if_active(dev);
}
