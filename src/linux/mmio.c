// SPDX-License-Identifier: GPL-2.0
/*
 * Register and memory access of the module: the core's table of functions over
 * an ioremapped BAR0.
 *
 * GPU memory is reached through the PRAMIN window, which belongs to the GPU's
 * driver. Every borrow of it runs inside stop_machine(): all other processors
 * stand still with interrupts off, so that the driver, wherever it was stopped,
 * finds its window where it left it and never sees ours. A borrow is bounded to
 * LENS_WINDOW_PIECE bytes, or to the vram_piece parameter if that is less: the
 * whole machine waits that long.
 *
 * Registers are read with 32-bit accesses only: some chips return zeros in the
 * upper half of wider ones. Memory is read 64 bits at a time.
 */
#include <linux/delay.h>
#include <linux/dma-map-ops.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/stop_machine.h>

#include "lens.h"

static unsigned int vram_piece = LENS_WINDOW_PIECE;
module_param(vram_piece, uint, 0644);
MODULE_PARM_DESC(vram_piece,
		 "bytes of GPU memory copied per stop of the machine, 64 to 65536; less means shorter stops and more of them (default 65536)");

static struct lens_dev *to_dev(struct lens_io *io)
{
	return container_of(io, struct lens_dev, io);
}

/*
 * Has this use taken too long, or was who waits for it killed? Then nothing is
 * read any more: the rest ends at once, with all ones instead of answers, and
 * lens_dev_put() says why. Each read asks, since each may take any time.
 */
static bool late(struct lens_dev *dev)
{
	if (!dev->late && (ktime_get_ns() > dev->until || fatal_signal_pending(current)))
		dev->late = true;
	return dev->late;
}

static u32 mmio_rd32(struct lens_io *io, u32 off)
{
	struct lens_dev *dev = to_dev(io);

	if (off & 3 || off > dev->bar0_len - 4)
		return 0xffffffff;
	/* A borrowed window is given back however long it takes, which ends with a read. */
	if (late(dev) && !(io->window && off == io->window->reg))
		return 0xffffffff;
	io->cost.rd32++;
	return readl(dev->bar0 + off);
}

static void mmio_wr32(struct lens_io *io, u32 off, u32 val)
{
	struct lens_dev *dev = to_dev(io);

	if (off & 3 || off > dev->bar0_len - 4)
		return;
	io->cost.wr32++;
	writel(val, dev->bar0 + off);
}

static u64 mmio_rd64(struct lens_io *io, u32 off)
{
	struct lens_dev *dev = to_dev(io);

	if (late(dev))
		return U64_MAX;
	io->cost.rd64++;
	return readq(dev->bar0 + off);
}

/* fn(arg), to be run on behalf of a GPU. */
struct call {
	struct lens_io *io;
	int (*fn)(void *arg);
	void *arg;
};

#ifdef LENS_UNSAFE_WINDOW
/* For the test that shows what this protects from; never in a module that is used. */
static int stopped(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	return fn(arg);
}
#else
/*
 * What is late here ends the whole use. Half of what the kernel lets a processor
 * stand still before it reports a lockup (watchdog_thresh, 10 s), and much more
 * than a piece takes on any bus that works, also on an emulated one.
 */
#define LONGEST_STOP_NS (5 * (u64)NSEC_PER_SEC)

/* The clock can be read here: nobody was stopped while updating it, for that has interrupts off. */
static int run_stopped(void *arg)
{
	struct call *c = arg;
	struct lens_dev *dev = to_dev(c->io);
	struct lens_cost *cost = &c->io->cost;
	u64 start = ktime_get_ns(), until = dev->until, ns;
	int err;

	dev->until = min(until, start + LONGEST_STOP_NS);
	err = c->fn(c->arg);
	dev->until = until;
	ns = ktime_get_ns() - start;
	cost->stops++;
	cost->stopped_ns += ns;
	cost->longest_stop_ns = max(cost->longest_stop_ns, ns);
	return err;
}

/* Run fn while all other processors stand still, unless it is late before or after that. */
static int stopped(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct call c = { .io = io, .fn = fn, .arg = arg };
	struct lens_dev *dev = to_dev(io);
	int err = late(dev) ? 0 : stop_machine(run_stopped, &c, NULL);

	return dev->late ? -ETIMEDOUT : err;
}
#endif

struct borrow {
	struct lens_io *io;
	u64 addr;
	u64 *dst;		/* NULL: store val */
	u32 words;
	u32 val;
};

static int run_borrow(void *arg)
{
	struct borrow *b = arg;

	if (b->dst)
		return lens_window_copy(b->io, b->addr, b->dst, b->words);
	return lens_window_store32(b->io, b->addr, b->val);
}

static int check(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 bytes)
{
	if (late(to_dev(io)))
		return -ETIMEDOUT;
	if (ap == LENS_SYS)
		return 0;
	return lens_vram ? lens_window_check(io, addr, bytes) : -EACCES;
}

static int mmio_copy(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	u32 piece = clamp(READ_ONCE(vram_piece), 64U, (u32)LENS_WINDOW_PIECE) / 8;
	struct borrow b = { .io = io };
	struct lens_dev *dev = to_dev(io);
	int err;

	err = check(io, ap, addr, words * 8ULL);
	if (!err && ap == LENS_SYS) {
		io->cost.sys64 += words;
		return lens_sysmem_copy(dev, addr, dst, words);
	}
	/* Inside exclusive() the machine stands still already. */
	if (!err && io->held) {
		err = lens_window_copy(io, addr, dst, words);
		return dev->late ? -ETIMEDOUT : err;
	}
	while (!err && words) {
		b.addr = addr;
		b.dst = dst;
		b.words = min(words, piece);
		err = stopped(io, run_borrow, &b);
		addr += b.words * 8ULL;
		dst += b.words;
		words -= b.words;
	}
	return err;
}

static int mmio_store32(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val)
{
	struct borrow b = { .io = io, .addr = addr, .val = val };
	int err = check(io, ap, addr, 4);

	if (!err && ap == LENS_SYS) {
		io->cost.sys64++;
		return lens_sysmem_store32(to_dev(io), addr, val);
	}
	if (!err && io->held)
		return lens_window_store32(io, addr, val);
	return err ? err : stopped(io, run_borrow, &b);
}

static int run_exclusive(void *arg)
{
	struct call *c = arg;

	return lens_window_run(c->io, c->fn, c->arg);
}

static int mmio_exclusive(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct call c = { .io = io, .fn = fn, .arg = arg };

	/*
	 * Nothing is behind the window of a Tegra: its memory is the system's. And
	 * where that has to be mapped for each look, the machine cannot be stopped
	 * around several; each then borrows the window for itself.
	 */
	if (!to_dev(io)->pdev || !dev_is_dma_coherent(to_dev(io)->device))
		return fn(arg);
	if (!lens_vram)
		return -EACCES;
	return stopped(io, run_exclusive, &c);
}

/*
 * Who only looks need not wait for a GPU that does not answer: its lock is free
 * meanwhile. Requests are kept apart by another (lens_dev_steer()).
 */
static int mmio_wait_us(struct lens_io *io, u32 us)
{
	struct lens_dev *dev = to_dev(io);
	u64 start = ktime_get_ns(), until = dev->until;
	bool was_late = dev->late;

	lockdep_assert_held(&dev->steering);
	mutex_unlock(&dev->lock);
	usleep_range(us, us + us / 4);
	mutex_lock(&dev->lock);
	/* Others' uses have their own; waiting is bounded by who waits. */
	dev->late = was_late;
	dev->until = until + ktime_get_ns() - start;
	return lens_dev_check(dev);
}

const struct lens_io_ops lens_mmio_ops = {
	.rd32 = mmio_rd32,
	.wr32 = mmio_wr32,
	.rd64 = mmio_rd64,
	.copy = mmio_copy,
	.store32 = mmio_store32,
	.exclusive = mmio_exclusive,
	.wait_us = mmio_wait_us,
};
