// SPDX-License-Identifier: GPL-2.0
/* Not part of the module: probe.mk tests whether this compiles. */
#include <linux/pci.h>
#include <linux/platform_device.h>

bool have_driver_managed_dma(const struct pci_driver *pci, const struct platform_driver *platform);

bool have_driver_managed_dma(const struct pci_driver *pci, const struct platform_driver *platform)
{
	return pci->driver_managed_dma || platform->driver_managed_dma;
}
