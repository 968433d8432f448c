// SPDX-License-Identifier: GPL-2.0
/*
 * Access to registers and memory: struct lens_io_ops over an ioremapped BAR0. The PRAMIN window
 * is used inside stop_machine() only; docs/internals.md, "GPU memory without disturbing a
 * driver", says why and for how long.
 */
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <xen/xen.h>

#include "../../include/hw/pmc.h"
#include "lens.h"

#ifdef __BIG_ENDIAN
#error "little-endian kernels only: 64-bit words are taken apart in their order"
#endif

static unsigned int vram_piece = 4096;
module_param(vram_piece, uint, 0644);
MODULE_PARM_DESC(vram_piece,
		 "bytes of GPU memory to copy while all processors are stopped, 64 to 65536; smaller means shorter stops, but more of them (default 4096)");

static bool mmio_use_window = true;
static char *vram = "on";
module_param(vram, charp, 0444);
MODULE_PARM_DESC(vram,
		 "on (default) or off: read GPU memory through the PRAMIN window, which stops all processors for each piece; off: entries of runlists are not shown");

/* The longest stop, and the time after which it begins no more work. */
#define MMIO_STOP_MAX_NS	(50 * (u64)NSEC_PER_MSEC)
#define MMIO_STOP_SOON_NS	(MMIO_STOP_MAX_NS / 2)
/* Accesses reserved for restoring the window: a write, a read, and the one in progress. */
#define MMIO_STOP_RESERVE	4
/* Accesses that make a stop useful: moving the window, and some words or one context (inst.c). */
#define MMIO_STOP_MIN		16
/* Accesses at the beginning of a stop that are timed, to limit the number of the others. */
#define MMIO_STOP_TIMED		4
#define MMIO_ATOMIC_TRIES	3
/* No working bus is faster. Limits the count of accesses if the clock does not advance. */
#define MMIO_ACCESS_MIN_NS	50
/* A slower access is measured again: the processor may have been interrupted meanwhile. */
#define MMIO_ACCESS_SLOW_NS	(500 * (u32)NSEC_PER_USEC)
#define MMIO_PROBE_NS		(30 * (u32)NSEC_PER_MSEC)
#define MMIO_PROBE_MIN		8
/* Interval of cond_resched() in a use. */
#define MMIO_RESCHED_NS		(5 * (u64)NSEC_PER_MSEC)

int __init lens_mmio_init(void)
{
	mmio_use_window = !strcmp(vram, "on");
	return mmio_use_window || !strcmp(vram, "off") ? 0 : -EINVAL;
}

static struct lens_dev *mmio_to_dev(struct lens_io *io)
{
	return container_of(io, struct lens_dev, io);
}

/* Is the use over: its time limit passed, its task killed, the GPU removed, or holds are ended? */
static bool mmio_use_is_over(struct lens_dev *dev, u64 now)
{
	struct lens_use *use = &dev->use;

	if (use->over)
		return true;
	if (now > use->until || READ_ONCE(dev->gone))
		use->over = -ETIMEDOUT;
	else if (use->ends_holds)
		return false;
	else if (READ_ONCE(dev->ending))
		use->over = -EBUSY;
	/* Not current, which may be the task of stop_machine(). */
	else if (fatal_signal_pending(use->task))
		use->over = -ETIMEDOUT;
	return use->over;
}

/* Number of accesses of this duration that fit in a stop. */
static u32 mmio_count_accesses(u64 access_ns)
{
	u64 n = div64_u64(MMIO_STOP_MAX_NS, access_ns);

	return n > MMIO_STOP_RESERVE ? n - MMIO_STOP_RESERVE : 0;
}

/* mmio_may_access() while the machine is stopped. Times the first accesses of the stop. */
static bool mmio_may_access_stopped(struct lens_use *use, u64 now)
{
	bool first = use->timed == MMIO_STOP_TIMED;
	u64 ns;

	/* After a write, a few reads check its result; they must not fail for lack of time. */
	if (use->wrote)
		return true;
	if (use->timed && !--use->timed && now > use->stop_began) {
		ns = div_u64(now - use->stop_began, MMIO_STOP_TIMED);
		if (ns > use->access_ns)
			use->left = min(use->left, mmio_count_accesses(ns));
	}
	/* The first access is allowed: a hypervisor may have paused the processor before it. */
	if (!use->left || (now >= use->stop_until && !first))
		use->cut = true;
	else
		use->left--;
	return !use->cut && !use->over;
}

/*
 * Is another access allowed? Asked before each, since each may take any time. Otherwise reads
 * return all ones, writes are dropped, and lens_dev_end_use() returns the reason.
 */
static bool mmio_may_access(struct lens_io *io)
{
	struct lens_dev *dev = mmio_to_dev(io);
	struct lens_use *use = &dev->use;
	u64 now = ktime_get_ns();

	/* The window is restored in any case. */
	if (io->restoring)
		return true;
	if (use->stopped)
		return mmio_may_access_stopped(use, now);
	if (mmio_use_is_over(dev, now))
		return false;
	if (now - use->resched_ns > MMIO_RESCHED_NS && !io->held) {
		cond_resched();
		use->resched_ns = ktime_get_ns();
	}
	return true;
}

static u32 mmio_rd32(struct lens_io *io, u32 off)
{
	struct lens_dev *dev = mmio_to_dev(io);

	if (off & 3 || off > dev->bar0_len - 4 || !mmio_may_access(io))
		return 0xffffffff;
	io->cost.rd32++;
	return readl(dev->bar0 + off);
}

static void mmio_wr32(struct lens_io *io, u32 off, u32 val)
{
	struct lens_dev *dev = mmio_to_dev(io);

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
	struct lens_dev *dev = mmio_to_dev(io);

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

/* -- stopping the machine -- */

/* A call of fn(arg) for a GPU. */
struct mmio_call {
	struct lens_io *io;
	int (*fn)(void *arg);
	void *arg;
};

/* The clock can be read: it is updated with interrupts off, so no update was interrupted. */
static int mmio_run_stopped(void *arg)
{
	struct mmio_call *c = arg;
	struct lens_use *use = &mmio_to_dev(c->io)->use;
	struct lens_cost *cost = &c->io->cost;
	u64 start = ktime_get_ns(), end, ns;
	int err;

	use->stopped = true;
	use->cut = false;
	use->wrote = false;
	/* From the duration of an access before the stop, when the clock was advanced. */
	use->left = mmio_count_accesses(use->access_ns);
	use->timed = MMIO_STOP_TIMED;
	use->stop_began = start;
	use->soon = start + MMIO_STOP_SOON_NS;
	use->stop_until = start + MMIO_STOP_MAX_NS - MMIO_STOP_RESERVE * (u64)use->access_ns;
	err = c->fn(c->arg);
	use->stopped = false;
	end = ktime_get_ns();
	/* Earlier: the clock wrapped while it was not advanced. */
	ns = end > start ? end - start : 0;
	cost->stops++;
	cost->stopped_ns += ns;
	cost->longest_stop_ns = max(cost->longest_stop_ns, ns);
	return err;
}

static void mmio_unlock_owner(struct lens_dev *dev)
{
	if (xen_initial_domain() && !dev->use.device_locked)
		device_unlock(dev->device);
}

/*
 * A stop does not stop other Xen domains: the window of a GPU that is lent to one is not used, and
 * the lock keeps the GPU from being lent meanwhile.
 */
static int mmio_lock_owner(struct lens_dev *dev)
{
	if (!xen_initial_domain())
		return 0;
	if (!dev->use.device_locked && !device_trylock(dev->device))
		return -EBUSY;
	if (!lens_is_lent(dev->device))
		return 0;
	mmio_unlock_owner(dev);
	return -EACCES;
}

/*
 * Runs fn while all other processors are stopped. -ETIMEDOUT: the use was over, or the stop ended
 * before fn had finished.
 */
static int mmio_stop_machine(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct mmio_call c = { .io = io, .fn = fn, .arg = arg };
	struct lens_dev *dev = mmio_to_dev(io);
	struct lens_use *use = &dev->use;
	int err;

	if (mmio_use_is_over(dev, ktime_get_ns()))
		return -ETIMEDOUT;
	/* Too slow: no stop of an acceptable length would be useful. */
	if (mmio_count_accesses(use->access_ns) < MMIO_STOP_MIN) {
		use->over = -ETIMEDOUT;
		return -ETIMEDOUT;
	}
	err = mmio_lock_owner(dev);
	if (err)
		return err;
	err = stop_machine(mmio_run_stopped, &c, NULL);
	mmio_unlock_owner(dev);
	/* fn took the all ones of refused reads for another error. */
	if (err && use->cut)
		err = -ETIMEDOUT;
	return err;
}

static enum lens_stop mmio_get_stop_state(struct lens_io *io, u32 accesses)
{
	struct lens_use *use = &mmio_to_dev(io)->use;

	if (!use->stopped)
		return LENS_STOP_GOES_ON;
	if (use->cut)
		return LENS_STOP_CUT;
	if (use->left < accesses || ktime_get_ns() >= use->soon)
		return LENS_STOP_ENDS;
	return LENS_STOP_GOES_ON;
}

struct mmio_transfer {
	struct lens_io *io;
	u64 addr;
	u64 *dst;		/* NULL: store val */
	u32 words;
	u32 done;		/* words copied in this stop */
	u32 val;
};

static int mmio_run_transfer(void *arg)
{
	struct mmio_transfer *t = arg;
	int n;

	if (!t->dst)
		return lens_window_store32(t->io, t->addr, t->val);
	n = lens_window_copy(t->io, t->addr, t->dst, t->words);
	t->done = n < 0 ? 0 : n;
	return n < 0 ? n : 0;
}

static int mmio_check_range(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 bytes)
{
	struct lens_dev *dev = mmio_to_dev(io);
	struct lens_use *use = &dev->use;

	if (use->stopped ? use->cut : mmio_use_is_over(dev, ktime_get_ns()))
		return -ETIMEDOUT;
	if (ap == LENS_SYS)
		return 0;
	return mmio_use_window ? lens_window_check(io, addr, bytes) : -EACCES;
}

/* Inside exclusive(), where the machine is stopped already: all words, or an error. */
static int mmio_copy_held(struct lens_io *io, u64 addr, u64 *dst, u32 words)
{
	int n = lens_window_copy(io, addr, dst, words);

	if (n < 0)
		return n;
	return mmio_to_dev(io)->use.cut || n < (int)words ? -ETIMEDOUT : 0;
}

/* While the machine is stopped, no address can be translated: -EAGAIN unless pinned. */
static int mmio_copy_system(struct lens_dev *dev, u64 addr, u64 *dst, u32 words)
{
	struct lens_use *use = &dev->use;

	if (use->stopped && !lens_sysmem_is_pinned(&use->pin, addr, words * 8ULL))
		return -EAGAIN;
	dev->io.cost.sys64 += words;
	return use->stopped ? lens_sysmem_read_pinned(&use->pin, addr, dst, words * 8) :
			      lens_sysmem_copy(dev, addr, dst, words);
}

static int mmio_store_system(struct lens_dev *dev, u64 addr, u32 val)
{
	struct lens_use *use = &dev->use;

	if (use->stopped && !lens_sysmem_is_pinned(&use->pin, addr, 4))
		return -EAGAIN;
	dev->io.cost.sys64++;
	return use->stopped ? lens_sysmem_store_pinned(&use->pin, addr, val) :
			      lens_sysmem_store32(dev, addr, val);
}

static int mmio_copy(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	u32 piece = clamp(READ_ONCE(vram_piece), 64U, (u32)LENS_WINDOW_PIECE) / 8;
	struct mmio_transfer t = { .io = io };
	struct lens_dev *dev = mmio_to_dev(io);
	u32 empty = 0;
	int err;

	err = mmio_check_range(io, ap, addr, words * 8ULL);
	if (!err && ap == LENS_SYS)
		return mmio_copy_system(dev, addr, dst, words);
	if (!err && io->held)
		return mmio_copy_held(io, addr, dst, words);
	/* Stopped for system memory, without the window. */
	if (!err && dev->use.stopped)
		return -EAGAIN;
	piece = min_t(u64, piece, div_u64(MMIO_STOP_SOON_NS, dev->use.access_ns) ?: 1);
	while (!err && words) {
		t.addr = addr;
		t.dst = dst;
		t.words = min(words, piece);
		t.done = 0;
		err = mmio_stop_machine(io, mmio_run_transfer, &t);
		/* The device may become slow during a stop; limit the attempts. */
		empty = t.done ? 0 : empty + 1;
		if (empty == LENS_EMPTY_STOPS)
			err = err ?: -ETIMEDOUT;
		addr += t.done * 8ULL;
		dst += t.done;
		words -= t.done;
	}
	return err;
}

static int mmio_store32(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val)
{
	struct mmio_transfer t = { .io = io, .addr = addr, .val = val };
	int err = mmio_check_range(io, ap, addr, 4);

	if (!err && ap == LENS_SYS)
		return mmio_store_system(mmio_to_dev(io), addr, val);
	if (!err && mmio_to_dev(io)->use.stopped && !io->held)
		return -EAGAIN;
	if (!err && io->held)
		return lens_window_store32(io, addr, val);
	return err ? err : mmio_stop_machine(io, mmio_run_transfer, &t);
}

static int mmio_run_exclusive(void *arg)
{
	struct mmio_call *c = arg;

	return lens_window_run(c->io, c->fn, c->arg);
}

static int mmio_call_exclusive(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct mmio_call c = { .io = io, .fn = fn, .arg = arg };

	/* A Tegra has no window: its memory is the system's. */
	if (!mmio_to_dev(io)->pdev)
		return fn(arg);
	if (!mmio_use_window)
		return -EACCES;
	return mmio_stop_machine(io, mmio_run_exclusive, &c);
}

static int mmio_call_exclusive_at(struct lens_io *io, enum lens_aperture ap, u64 addr,
				  int (*fn)(void *arg), void *arg)
{
	struct lens_dev *dev = mmio_to_dev(io);
	int err;

	if (ap == LENS_VID)
		return mmio_call_exclusive(io, fn, arg);
	err = lens_sysmem_pin(dev, addr, &dev->use.pin);
	if (err)
		return err;
	err = mmio_stop_machine(io, fn, arg);
	lens_sysmem_unpin(&dev->use.pin);
	return err;
}

static int mmio_run_atomic(void *arg)
{
	struct mmio_call *c = arg;
	int err;

	c->io->in_atomic = true;
	err = c->fn(c->arg);
	c->io->in_atomic = false;
	return err;
}

/*
 * Uses no window, so it works without GPU memory and on a Tegra. A stop that ended before anything
 * was written is repeated: a hypervisor may have paused the processor.
 */
static int mmio_call_atomic(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct mmio_call c = { .io = io, .fn = fn, .arg = arg };
	struct lens_use *use = &mmio_to_dev(io)->use;
	int tries, err = -ETIMEDOUT;

	for (tries = 0; tries < MMIO_ATOMIC_TRIES; tries++) {
		err = mmio_stop_machine(io, mmio_run_atomic, &c);
		if (err != -ETIMEDOUT || use->over || !use->cut || use->wrote)
			break;
	}
	return err;
}

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
	struct lens_dev *dev = mmio_to_dev(io);
	struct lens_use use = dev->use;
	u64 start = ktime_get_ns();

	lockdep_assert_held(&dev->control_lock);
	mutex_unlock(&dev->lock);
	usleep_range(us, us + us / 4);
	mutex_lock(&dev->lock);
	/* Restored, since others used the GPU meanwhile; the wait does not count as used time. */
	dev->use = use;
	dev->use.resched_ns = ktime_get_ns();
	dev->use.until += dev->use.resched_ns - start;
	if (mmio_use_is_over(dev, dev->use.resched_ns))
		return dev->use.over;
	return mmio_check_device(dev);
}

const struct lens_io_ops lens_mmio_ops = {
	.rd32 = mmio_rd32,
	.wr32 = mmio_wr32,
	.rd64 = mmio_rd64,
	.copy = mmio_copy,
	.store32 = mmio_store32,
	.exclusive = mmio_call_exclusive,
	.stop_state = mmio_get_stop_state,
	.exclusive_at = mmio_call_exclusive_at,
	.atomic = mmio_call_atomic,
	.wait_us = mmio_wait_us,
};
