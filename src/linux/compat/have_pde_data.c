// SPDX-License-Identifier: GPL-2.0
/* Not compiled into anything: whether this compiles is the question. See probe.mk. */
#include <linux/proc_fs.h>

void *(*have_pde_data)(const struct inode *inode) = pde_data;
