// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into the module that "make module-leaps" makes, whose calls of ktime_get() come
 * here: a clock that leaps ahead by 20 ms at five calls in a row of each 61, longer
 * together than a stop of the machine may last, as where a hypervisor runs something else
 * meanwhile. tests/vm/test_leaps.py shows what becomes of readings and requests.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>

#define LEAP_EVERY 61
#define LEAPS 5
#define LEAP_NS (20 * NSEC_PER_MSEC)

/* No header declares it, because it is linked in place of ktime_get(). */
__diag_push();
__diag_ignore(GCC, 8, "-Wmissing-prototypes", "linked by its name");
ktime_t leaping_ktime_get(void)
{
	static atomic_t asked;
	u32 calls = atomic_inc_return(&asked);
	u64 leaps = (u64)(calls / LEAP_EVERY) * LEAPS + min_t(u32, calls % LEAP_EVERY, LEAPS);

	return ktime_add_ns(ktime_get(), leaps * LEAP_NS);
}

__diag_pop();

MODULE_DESCRIPTION("Part of a variant of gpulens for its tests");
MODULE_LICENSE("GPL");
