// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into the module that "make module-unsafe" makes, whose calls of stop_machine()
 * come here: nothing is stopped while the window is moved. tests/vm/test_rival.py and
 * test_rival_driver.py show what that does.
 */
#include <linux/module.h>
#include <linux/stop_machine.h>

int unsafe_stop_machine(cpu_stop_fn_t fn, void *data, const struct cpumask *cpus);

int unsafe_stop_machine(cpu_stop_fn_t fn, void *data, const struct cpumask *cpus)
{
	return fn(data);
}

MODULE_DESCRIPTION("Part of a variant of gpulens for its tests");
MODULE_LICENSE("GPL");
