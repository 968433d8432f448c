// SPDX-License-Identifier: GPL-2.0
/*
 * Access to registers: struct lens_io_ops over an ioremapped BAR0. Memory is in stop.c.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "../../include/hw/pmc.h"
#include "device.h"
#include "mmio.h"
#include "stop.h"

#ifdef __BIG_ENDIAN
#error "little-endian kernels only: 64-bit words are taken apart in their order"
#endif

/* No working bus is faster. Limits the count of accesses if the clock does not advance. */
#define MMIO_ACCESS_MIN_NS	50
/* A slower access is measured again: the processor may have been interrupted meanwhile. */
#define MMIO_ACCESS_SLOW_NS	(500 * (u32)NSEC_PER_USEC)
#define MMIO_PROBE_NS		(30 * (u32)NSEC_PER_MSEC)
#define MMIO_PROBE_MIN		8
/* Interval of cond_resched() in a use. */
#define MMIO_RESCHED_NS		(5 * (u64)NSEC_PER_MSEC)

/*
 * Is another access allowed? Asked before each, since each may take any time. Otherwise reads
 * return all ones, writes are dropped, and lens_dev_end_use() returns the reason.
 */
static bool mmio_may_access(struct lens_io *io)
{
	struct lens_dev *dev = lens_io_to_dev(io);
	struct lens_use *use = &dev->use;
	u64 now = ktime_get_ns();

	/* The window is restored in any case. */
	if (io->restoring)
		return true;
	if (use->stopped)
		return lens_stop_may_access(use, now);
	if (lens_use_is_over(dev, now))
		return false;
	if (now - use->resched_ns > MMIO_RESCHED_NS && !io->held) {
		cond_resched();
		use->resched_ns = ktime_get_ns();
	}
	return true;
}

static u32 mmio_rd32(struct lens_io *io, u32 off)
{
	struct lens_dev *dev = lens_io_to_dev(io);

	if (off & 3 || off > dev->bar0_len - 4 || !mmio_may_access(io))
		return 0xffffffff;
	io->cost.rd32++;
	return readl(dev->bar0 + off);
}

static void mmio_wr32(struct lens_io *io, u32 off, u32 val)
{
	struct lens_dev *dev = lens_io_to_dev(io);

	if (off & 3 || off > dev->bar0_len - 4)
		return;
	/* In atomic(), reads before it failed if time was over; a sequence begun is finished. */
	if (!io->in_atomic && !mmio_may_access(io))
		return;
	dev->use.wrote = io->in_atomic;
	io->cost.wr32++;
	writel(val, dev->bar0 + off);
}

static u32 mmio_read_half(struct lens_dev *dev, u32 off)
{
	dev->io.cost.rd32++;
	return readl(dev->bar0 + off);
}

static u64 mmio_read_whole(struct lens_dev *dev, u32 off)
{
	dev->io.cost.rd64++;
	return readq(dev->bar0 + off);
}

static u64 mmio_read_halves(struct lens_dev *dev, u32 off)
{
	u64 upper = mmio_read_half(dev, off + 4);

	return upper << 32 | mmio_read_half(dev, off);
}

/*
 * Whether PRAMIN supports 64-bit reads is not published. Registers return zero in the upper half.
 * Until a word proves it, once per GPU, the upper half is also read by itself.
 */
static u64 mmio_try_read64(struct lens_dev *dev, u32 off)
{
	u64 val = mmio_read_whole(dev, off);
	u32 upper = mmio_read_half(dev, off + 4);

	if (upper_32_bits(val) == upper) {
		/* Zeros prove nothing, nor do the ones of a GPU that was removed. */
		if (upper && val != U64_MAX)
			dev->rd64 = LENS_RD64_WHOLE;
		return val;
	}
	/* The memory may have changed in between. */
	if (!upper_32_bits(val) && !upper_32_bits(mmio_read_whole(dev, off)) &&
	    mmio_read_half(dev, off + 4))
		dev->rd64 = LENS_RD64_HALVES;
	return mmio_read_halves(dev, off);
}

static u64 mmio_rd64(struct lens_io *io, u32 off)
{
	struct lens_dev *dev = lens_io_to_dev(io);

	if (!mmio_may_access(io))
		return U64_MAX;
	if (IS_ENABLED(CONFIG_64BIT) && dev->rd64 == LENS_RD64_WHOLE)
		return mmio_read_whole(dev, off);
	if (IS_ENABLED(CONFIG_64BIT) && dev->rd64 == LENS_RD64_UNKNOWN)
		return mmio_try_read64(dev, off);
	return mmio_read_halves(dev, off);
}

/* -- beginning of a use -- */

static u32 mmio_time_boot0(struct lens_dev *dev, u32 *boot0)
{
	u64 start = ktime_get_ns(), end;

	dev->io.cost.rd32++;
	*boot0 = readl(dev->bar0 + NV_PMC_BOOT_0);
	end = ktime_get_ns();
	return end > start ? min_t(u64, end - start, U32_MAX) : 0;
}

int lens_mmio_probe_gpu(struct lens_dev *dev)
{
	u32 boot0, again, ns, tries = 1;
	u64 total;

	ns = mmio_time_boot0(dev, &boot0);
	/* At least MMIO_PROBE_MIN: a hypervisor may have paused the processor for all the time. */
	for (total = ns; ns > MMIO_ACCESS_SLOW_NS &&
	     (total < MMIO_PROBE_NS || tries < MMIO_PROBE_MIN); total += again) {
		again = mmio_time_boot0(dev, &boot0);
		ns = min(ns, again);
		tries++;
	}
	dev->use.access_ns = max_t(u32, ns, MMIO_ACCESS_MIN_NS);
	if (boot0 == 0xffffffff)
		return -ENODEV;
	if (lens_chip_is_same(dev->gpu.boot0, boot0))
		return 0;
	return !boot0 || lens_is_bad_read(boot0) ? -EIO : -ENODEV;
}

/* -- waiting -- */

/* May the GPU still be accessed? 0, or what lens_dev_acquire() returns. */
static int mmio_check_device(struct lens_dev *dev)
{
	int err = lens_dev_acquire(dev);

	/* Not kept: lens_dev_begin_use() acquired the device as well. */
	if (!err)
		lens_dev_release(dev);
	return err;
}

/*
 * Releases the GPU's lock while it sleeps, so that readers need not wait for a GPU that does not
 * answer. control_lock still serialises control requests.
 */
static int mmio_wait_us(struct lens_io *io, u32 us)
{
	struct lens_dev *dev = lens_io_to_dev(io);
	struct lens_use use = dev->use;
	u64 start = ktime_get_ns();

	lockdep_assert_held(&dev->control_lock);
	lockdep_assert_held(&dev->lock);
	mutex_unlock(&dev->lock);
	usleep_range(us, us + us / 4);
	mutex_lock(&dev->lock);
	/* Restored, since others used the GPU meanwhile; the wait does not count as used time. */
	dev->use = use;
	dev->use.resched_ns = ktime_get_ns();
	dev->use.until += dev->use.resched_ns - start;
	if (lens_use_is_over(dev, dev->use.resched_ns))
		return dev->use.over;
	return mmio_check_device(dev);
}

const struct lens_io_ops lens_mmio_ops = {
	.rd32 = mmio_rd32,
	.wr32 = mmio_wr32,
	.rd64 = mmio_rd64,
	.copy = lens_stop_copy,
	.store32 = lens_stop_store32,
	.exclusive = lens_stop_call_exclusive,
	.stop_state = lens_stop_ask_state,
	.exclusive_at = lens_stop_call_exclusive_at,
	.atomic = lens_stop_call_atomic,
	.wait_us = mmio_wait_us,
};
