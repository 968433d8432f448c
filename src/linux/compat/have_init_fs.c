// SPDX-License-Identifier: GPL-2.0
/* Not compiled into anything: whether this compiles is the question. See probe.mk. */
#include <linux/fs_struct.h>

void have_init_fs(void);

void have_init_fs(void)
{
	scoped_with_init_fs()
		barrier();
}
