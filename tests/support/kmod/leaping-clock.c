// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the module that "make module-leaps" builds, and of no other. Its sources are
 * compiled with -Dktime_get=leaping_ktime_get: a clock that leaps ahead by 20 ms at five
 * looks in a row of each 61, longer together than a stop of the machine may last, as where
 * a hypervisor runs something else meanwhile. tests/vm/test_leaps.py shows what becomes of
 * readings and requests.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#define LEAP_EVERY 61
#define LEAPS 5
#define LEAP_NS (20 * NSEC_PER_MSEC)

ktime_t leaping_ktime_get(void)
{
	static atomic_t asked;
	u32 looks = atomic_inc_return(&asked);
	u64 leaps = (u64)(looks / LEAP_EVERY) * LEAPS + min_t(u32, looks % LEAP_EVERY, LEAPS);

	return ns_to_ktime(ktime_get_mono_fast_ns() + leaps * LEAP_NS);
}
