// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the module that "make module-unsafe" builds, and of no other. Its sources
 * are compiled with -Dstop_machine=unsafe_stop_machine, so that nothing is stopped while
 * the window is moved: tests/vm/test_rival.py shows what that does.
 */
#include <linux/stop_machine.h>

int unsafe_stop_machine(cpu_stop_fn_t fn, void *data, const struct cpumask *cpus)
{
	return fn(data);
}
