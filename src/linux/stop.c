// SPDX-License-Identifier: GPL-2.0
/*
 * Stops of the machine, and access to memory in them: the PRAMIN window is used inside
 * stop_machine() only. docs/internals.md, "GPU memory without disturbing a driver", says why and
 * for how long.
 */
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <xen/xen.h>

#include "device.h"
#include "stop.h"

static unsigned int vram_piece = 4096;
module_param(vram_piece, uint, 0644);
MODULE_PARM_DESC(vram_piece,
		 "bytes of GPU memory to copy while all processors are stopped, 64 to 65536; smaller means shorter stops, but more of them (default 4096)");

static bool stop_use_window = true;
static char *vram = "on";
module_param(vram, charp, 0444);
MODULE_PARM_DESC(vram,
		 "on (default) or off: read GPU memory through the PRAMIN window, which stops all processors for each piece; off: entries of runlists are not shown");

/* The longest stop, and the time after which it begins no more work. */
#define STOP_MAX_NS	(50 * (u64)NSEC_PER_MSEC)
#define STOP_SOON_NS	(STOP_MAX_NS / 2)
/* Accesses reserved for restoring the window: a write, a read, and the one in progress. */
#define STOP_RESERVE	4
/* Accesses that make a stop useful: moving the window, and some words or one context (inst.c). */
#define STOP_MIN	16
/* Accesses at the beginning of a stop that are timed, to limit the number of the others. */
#define STOP_TIMED	4
#define STOP_ATOMIC_TRIES	3

int __init lens_stop_init(void)
{
	stop_use_window = !strcmp(vram, "on");
	return stop_use_window || !strcmp(vram, "off") ? 0 : -EINVAL;
}

/* Number of accesses of this duration that fit in a stop. */
static u32 stop_count_accesses(u64 access_ns)
{
	u64 n = div64_u64(STOP_MAX_NS, access_ns);

	return n > STOP_RESERVE ? n - STOP_RESERVE : 0;
}

/* mmio_may_access() while the machine is stopped. Times the first accesses of the stop. */
bool lens_stop_may_access(struct lens_use *use, u64 now)
{
	bool first = use->timed == STOP_TIMED;
	u64 ns;

	/* After a write, a few reads check its result; they must not fail for lack of time. */
	if (use->wrote)
		return true;
	if (use->timed && !--use->timed && now > use->stop_began) {
		ns = div_u64(now - use->stop_began, STOP_TIMED);
		if (ns > use->access_ns)
			use->left = min(use->left, stop_count_accesses(ns));
	}
	/* The first access is allowed: a hypervisor may have paused the processor before it. */
	if (!use->left || (now >= use->stop_until && !first))
		use->cut = true;
	else
		use->left--;
	return !use->cut && !use->over;
}

/* A call of fn(arg) for a GPU. */
struct stop_call {
	struct lens_io *io;
	int (*fn)(void *arg);
	void *arg;
};

/* The clock can be read: it is updated with interrupts off, so no update was interrupted. */
static int stop_run(void *arg)
{
	struct stop_call *c = arg;
	struct lens_use *use = &lens_io_to_dev(c->io)->use;
	struct lens_cost *cost = &c->io->cost;
	u64 start = ktime_get_ns(), end, ns;
	int err;

	use->stopped = true;
	use->cut = false;
	use->wrote = false;
	/* From the duration of an access before the stop, when the clock was advanced. */
	use->left = stop_count_accesses(use->access_ns);
	use->timed = STOP_TIMED;
	use->stop_began = start;
	use->soon = start + STOP_SOON_NS;
	use->stop_until = start + STOP_MAX_NS - STOP_RESERVE * (u64)use->access_ns;
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

static void stop_unlock_owner(struct lens_dev *dev)
{
	if (xen_initial_domain() && !dev->use.device_locked)
		device_unlock(dev->device);
}

/*
 * A stop does not stop other Xen domains: the window of a GPU that is lent to one is not used, and
 * the lock keeps the GPU from being lent meanwhile.
 */
static int stop_lock_owner(struct lens_dev *dev)
{
	if (!xen_initial_domain())
		return 0;
	if (!dev->use.device_locked && !device_trylock(dev->device))
		return -EBUSY;
	if (!lens_is_lent(dev->device))
		return 0;
	stop_unlock_owner(dev);
	return -EACCES;
}

/*
 * Runs fn while all other processors are stopped. -ETIMEDOUT: the use was over, or the stop ended
 * before fn had finished.
 */
static int stop_call(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct stop_call c = { .io = io, .fn = fn, .arg = arg };
	struct lens_dev *dev = lens_io_to_dev(io);
	struct lens_use *use = &dev->use;
	int err;

	if (lens_use_is_over(dev, ktime_get_ns()))
		return -ETIMEDOUT;
	/* Too slow: no stop of an acceptable length would be useful. */
	if (stop_count_accesses(use->access_ns) < STOP_MIN) {
		use->over = -ETIMEDOUT;
		return -ETIMEDOUT;
	}
	err = stop_lock_owner(dev);
	if (err)
		return err;
	err = stop_machine(stop_run, &c, NULL);
	stop_unlock_owner(dev);
	/* fn took the all ones of refused reads for another error. */
	if (err && use->cut)
		err = -ETIMEDOUT;
	return err;
}

enum lens_stop lens_stop_ask_state(struct lens_io *io, u32 accesses)
{
	struct lens_use *use = &lens_io_to_dev(io)->use;

	if (!use->stopped)
		return LENS_STOP_GOES_ON;
	if (use->cut)
		return LENS_STOP_CUT;
	if (use->left < accesses || ktime_get_ns() >= use->soon)
		return LENS_STOP_ENDS;
	return LENS_STOP_GOES_ON;
}

struct stop_transfer {
	struct lens_io *io;
	u64 addr;
	u64 *dst;		/* NULL: store val */
	u32 words;
	u32 done;		/* words copied in this stop */
	u32 val;
};

static int stop_run_transfer(void *arg)
{
	struct stop_transfer *t = arg;
	int n;

	if (!t->dst)
		return lens_window_store32(t->io, t->addr, t->val);
	n = lens_window_copy(t->io, t->addr, t->dst, t->words);
	t->done = n < 0 ? 0 : n;
	return n < 0 ? n : 0;
}

static int stop_check_range(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 bytes)
{
	struct lens_dev *dev = lens_io_to_dev(io);
	struct lens_use *use = &dev->use;

	if (use->stopped ? use->cut : lens_use_is_over(dev, ktime_get_ns()))
		return -ETIMEDOUT;
	if (ap == LENS_SYS)
		return 0;
	return stop_use_window ? lens_window_check(io, addr, bytes) : -EACCES;
}

/* Inside exclusive(), where the machine is stopped already: all words, or an error. */
static int stop_copy_held(struct lens_io *io, u64 addr, u64 *dst, u32 words)
{
	int n = lens_window_copy(io, addr, dst, words);

	if (n < 0)
		return n;
	return lens_io_to_dev(io)->use.cut || n < (int)words ? -ETIMEDOUT : 0;
}

/* While the machine is stopped, no address can be translated: -EAGAIN unless pinned. */
static int stop_copy_system(struct lens_dev *dev, u64 addr, u64 *dst, u32 words)
{
	struct lens_use *use = &dev->use;

	if (use->stopped && !lens_sysmem_is_pinned(&use->pin, addr, words * 8ULL))
		return -EAGAIN;
	dev->io.cost.sys64 += words;
	return use->stopped ? lens_sysmem_read_pinned(&use->pin, addr, dst, words * 8) :
			      lens_sysmem_copy(dev, addr, dst, words);
}

static int stop_store_system(struct lens_dev *dev, u64 addr, u32 val)
{
	struct lens_use *use = &dev->use;

	if (use->stopped && !lens_sysmem_is_pinned(&use->pin, addr, 4))
		return -EAGAIN;
	dev->io.cost.sys64++;
	return use->stopped ? lens_sysmem_store_pinned(&use->pin, addr, val) :
			      lens_sysmem_store32(dev, addr, val);
}

int lens_stop_copy(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	u32 piece = clamp(READ_ONCE(vram_piece), 64U, (u32)LENS_WINDOW_PIECE) / 8;
	struct stop_transfer t = { .io = io };
	struct lens_dev *dev = lens_io_to_dev(io);
	u32 empty = 0;
	int err;

	err = stop_check_range(io, ap, addr, words * 8ULL);
	if (!err && ap == LENS_SYS)
		return stop_copy_system(dev, addr, dst, words);
	if (!err && io->held)
		return stop_copy_held(io, addr, dst, words);
	/* Stopped for system memory, without the window. */
	if (!err && dev->use.stopped)
		return -EAGAIN;
	piece = min_t(u64, piece, div_u64(STOP_SOON_NS, dev->use.access_ns) ?: 1);
	while (!err && words) {
		t.addr = addr;
		t.dst = dst;
		t.words = min(words, piece);
		t.done = 0;
		err = stop_call(io, stop_run_transfer, &t);
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

int lens_stop_store32(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val)
{
	struct stop_transfer t = { .io = io, .addr = addr, .val = val };
	int err = stop_check_range(io, ap, addr, 4);

	if (!err && ap == LENS_SYS)
		return stop_store_system(lens_io_to_dev(io), addr, val);
	if (!err && lens_io_to_dev(io)->use.stopped && !io->held)
		return -EAGAIN;
	if (!err && io->held)
		return lens_window_store32(io, addr, val);
	return err ? err : stop_call(io, stop_run_transfer, &t);
}

static int stop_run_exclusive(void *arg)
{
	struct stop_call *c = arg;

	return lens_window_run(c->io, c->fn, c->arg);
}

int lens_stop_call_exclusive(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct stop_call c = { .io = io, .fn = fn, .arg = arg };

	/* A Tegra has no window: its memory is the system's. */
	if (!lens_io_to_dev(io)->pdev)
		return fn(arg);
	if (!stop_use_window)
		return -EACCES;
	return stop_call(io, stop_run_exclusive, &c);
}

int lens_stop_call_exclusive_at(struct lens_io *io, enum lens_aperture ap, u64 addr,
				int (*fn)(void *arg), void *arg)
{
	struct lens_dev *dev = lens_io_to_dev(io);
	int err;

	if (ap == LENS_VID)
		return lens_stop_call_exclusive(io, fn, arg);
	err = lens_sysmem_pin(dev, addr, &dev->use.pin);
	if (err)
		return err;
	err = stop_call(io, fn, arg);
	lens_sysmem_unpin(&dev->use.pin);
	return err;
}

static int stop_run_atomic(void *arg)
{
	struct stop_call *c = arg;
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
int lens_stop_call_atomic(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct stop_call c = { .io = io, .fn = fn, .arg = arg };
	struct lens_use *use = &lens_io_to_dev(io)->use;
	int tries, err = -ETIMEDOUT;

	for (tries = 0; tries < STOP_ATOMIC_TRIES; tries++) {
		err = stop_call(io, stop_run_atomic, &c);
		if (err != -ETIMEDOUT || use->over || !use->cut || use->wrote)
			break;
	}
	return err;
}
