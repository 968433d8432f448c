/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Access to registers: struct lens_io_ops over an ioremapped BAR0.
 */
#ifndef _LENS_MMIO_H_
#define _LENS_MMIO_H_

#include "../../include/gpulens/gpu.h"

struct lens_dev;

extern const struct lens_io_ops lens_mmio_ops;
/*
 * First access of a use: checks BOOT_0 and measures the duration of an access. 0; -ENODEV: all
 * ones, or another GPU; -EIO: not the BOOT_0 of a GPU.
 */
int lens_mmio_probe_gpu(struct lens_dev *dev);

#endif /* _LENS_MMIO_H_ */
