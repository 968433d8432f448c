// SPDX-License-Identifier: GPL-2.0
/* Not part of the module: probe.mk tests whether this compiles. */
#include <linux/fs_struct.h>

void have_init_fs(void);

void have_init_fs(void)
{
	scoped_with_init_fs()
		barrier();
}
