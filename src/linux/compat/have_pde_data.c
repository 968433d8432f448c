// SPDX-License-Identifier: GPL-2.0
/* Not part of the module: probe.mk tests whether this compiles. */
#include <linux/proc_fs.h>

void *(*have_pde_data)(const struct inode *inode) = pde_data;
