/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buses that GPUs are on: PCI, and the platform bus on Tegra.
 */
#ifndef _LENS_BUS_H_
#define _LENS_BUS_H_

#include <linux/device.h>
#include <linux/string.h>

struct lens_dev;

/* Operations of a bus: PCI, or the platform bus on Tegra. */
struct lens_bus {
	/* Set bar0, bar0_start and bar0_len. Nothing to undo after an error. */
	int (*map)(struct lens_dev *dev);
	void (*unmap)(struct lens_dev *dev);
	/*
	 * Keep the device from being suspended until put(). On PCI, neither enables nor wakes it.
	 * -ENODEV: not present; -ENODATA: asleep; -ENXIO: memory decoding is off or BAR0 moved;
	 * -EIO: error recovery (AER, EEH) is in progress. All without an access to BAR0.
	 */
	int (*get)(struct lens_dev *dev);
	void (*put)(struct lens_dev *dev);
};

/* Is the device lent to another Xen domain? Under device_lock() or in a bus event. */
static inline bool lens_is_lent(const struct device *device)
{
	return device->driver && !strcmp(device->driver->name, "pciback");
}

int lens_pci_init(void);
void lens_pci_exit(void);
int lens_platform_init(void);
void lens_platform_exit(void);

#endif /* _LENS_BUS_H_ */
