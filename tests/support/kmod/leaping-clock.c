// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the module that "make module-leaps" builds, and of no other. Its sources are
 * compiled with -Dktime_get=leaping_ktime_get: a clock that leaps ahead by more than a stop
 * of the machine may last, every 61st time that it is asked, as where a hypervisor runs
 * something else meanwhile. tests/vm/test_leaps.py shows what becomes of requests.
 */
#include <linux/atomic.h>
#include <linux/ktime.h>

#define LEAP_EVERY 61
#define LEAP_NS (60 * NSEC_PER_MSEC)

ktime_t leaping_ktime_get(void)
{
	static atomic_t asked;

	return ns_to_ktime(ktime_get_mono_fast_ns() +
			   (u64)(atomic_inc_return(&asked) / LEAP_EVERY) * LEAP_NS);
}
