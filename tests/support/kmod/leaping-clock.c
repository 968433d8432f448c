// SPDX-License-Identifier: GPL-2.0
/*
 * Linked into the module that "make module-leaps" makes, whose calls of ktime_get() come
 * here: a clock that leaps ahead by 20 ms at five calls in a row of each 61, longer
 * together than a stop of the machine may last, as where a hypervisor runs something else
 * meanwhile. Which five differs, or requests of one length might all miss them.
 * tests/vm/test_leaps.py shows what becomes of readings and requests.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>

#define LEAP_EVERY 61
#define LEAPS 5
#define FIRST_BITS 4	/* the five begin at one of the first 16 calls */
#define LEAP_NS (20 * NSEC_PER_MSEC)

/* No header declares it, because it is linked in place of ktime_get(). */
__diag_push();
__diag_ignore(GCC, 8, "-Wmissing-prototypes", "linked by its name");
ktime_t leaping_ktime_get(void)
{
	static atomic_t asked;
	u32 calls = atomic_inc_return(&asked), round = calls / LEAP_EVERY;
	u32 call = calls % LEAP_EVERY, first = hash_32(round, FIRST_BITS);
	u64 leaps = (u64)round * LEAPS + clamp(call, first, first + LEAPS) - first;

	return ktime_add_ns(ktime_get(), leaps * LEAP_NS);
}

__diag_pop();

MODULE_DESCRIPTION("Part of a variant of gpulens for its tests");
MODULE_LICENSE("GPL");
