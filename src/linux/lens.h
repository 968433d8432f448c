/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own view of a GPU, shared by src/linux/ and procfs/.
 *
 * Locks, in the order in which they are taken: the PCI core's against rescans and
 * removals (around attach, and around what the bus announces), lens_devices_lock
 * (the list, attach and detach), a GPU's control_lock (one request at a time; held
 * while the hardware is polled), a GPU's lock (its hardware; not held while it is
 * polled). Readers without a privilege take turns by a lock that comes before these two
 * (budget.c). None is held while copying to user space or formatting, but for that turn.
 * A GPU's samplers.lock comes after lens_devices_lock and is taken with no other.
 * device_lock() of a GPU is only ever tried: bus events come with it held.
 */
#ifndef _LENS_LINUX_H_
#define _LENS_LINUX_H_

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../../include/gpulens/gpu.h"

struct lens_dev;

/* What a bus knows of a device: PCI, or the platform bus on Tegra. */
struct lens_bus {
	/* Make BAR0 accessible: bar0 and bar0_len. May not leave anything behind on failure. */
	int (*map)(struct lens_dev *dev);
	void (*unmap)(struct lens_dev *dev);
	/*
	 * Before and after each use. get() enables no device and wakes none on PCI; it keeps the
	 * device from being suspended until put(). Errors, all without an access to BAR0:
	 * -ENODEV: it is not there; -ENODATA: it is asleep; -ENXIO: memory decoding is off or
	 * BAR0 has another address; -EIO: its error recovery (AER, EEH) is under way.
	 */
	int (*get)(struct lens_dev *dev);
	void (*put)(struct lens_dev *dev);
};

/* A page of system memory that stays where it is: for use with the machine stopped. */
struct lens_pin {
	u64 bus;		/* address of its first byte, as the GPU has it */
	struct page *page;	/* a reference is held; NULL: nothing is pinned */
	void *at, *map;		/* where the kernel sees it; its own mapping for us, or NULL */
};

/* The samplers of a GPU (sampler.h), and what all of them did. */
struct lens_samplers {
	struct mutex lock;		/* the list, and their threads' beginning and end */
	struct list_head list;
	u32 n;
	bool closed;			/* there will be no more */
	atomic64_t ticks, lost, reads;	/* with samples; without; registers read */
};

/*
 * One use of a GPU, from lens_dev_begin_use() to lens_dev_end_use(). Accesses are refused once it
 * is over (late), and inside a stop of the machine once that stop is over (cut).
 */
struct lens_use {
	struct task_struct *task;	/* the caller; another task runs inside stop_machine() */
	u64 until;			/* end of the use, ns of CLOCK_MONOTONIC */
	u64 rested;			/* when it last offered to reschedule */
	u32 access_ns;			/* time of one access, measured at the beginning */
	bool late;			/* over: no access any more in it */
	bool budgeted;			/* stops are charged to unprivileged readers' budget */
	bool over_budget;
	u64 stopped_ns;			/* how long it kept the machine stopped */
	struct lens_pin pin;		/* system memory that may be used in a stop */

	/* While the machine is stopped. */
	bool stopped, cut;
	bool wrote;			/* in atomic() */
	u32 left, timed;		/* accesses: until the stop is over; still to be timed */
	u64 stop_began, soon, stop_until;	/* soon: no new work from then on */
};

/* How PRAMIN answers 64-bit reads. */
enum lens_rd64 {
	LENS_RD64_UNKNOWN,
	LENS_RD64_WHOLE,
	LENS_RD64_HALVES,	/* zero in the upper half: read as two words */
};

struct lens_dev {
	struct list_head link;		/* by index */
	int index;			/* the X of /proc/gpuX */
	char where[32];			/* PCI address or platform name */
	const struct lens_bus *bus;
	struct device *device;		/* a reference is held */
	struct pci_dev *pdev;		/* the same; NULL on the platform bus */
	struct proc_dir_entry *dir;
	struct lens_file *files;	/* what the entries of dir refer to; procfs/files.h */
	u32 n_files, max_files;

	struct lens_samplers samplers;
	u8 gone;			/* set before the lock is taken; no access any more */
	struct mutex control_lock;	/* see lens_dev_begin_control() */
	struct mutex lock;		/* everything below */
	void __iomem *bar0;		/* NULL once unmapped */
	resource_size_t bar0_start, bar0_len;
	struct lens_use use;
	u64 budgeted_ns;		/* what a budgeted use needs, by the last one */
	struct lens_io io;
	enum lens_rd64 rd64;
	struct lens_gpu gpu;		/* not written after attach */
};

/* Is the device lent to another Xen domain? With device_lock() or from a bus event. */
static inline bool lens_is_lent(const struct device *device)
{
	return device->driver && !strcmp(device->driver->name, "pciback");
}

/*
 * Keep the device from being suspended until lens_dev_release(). 0, -ENODEV when it has gone, or
 * what get() of its bus returns.
 */
static inline int lens_dev_acquire(struct lens_dev *dev)
{
	return READ_ONCE(dev->gone) ? -ENODEV : dev->bus->get(dev);
}

static inline void lens_dev_release(struct lens_dev *dev)
{
	dev->bus->put(dev);
}

/* -- devices.c: use of a GPU -- */
/*
 * Begin a use: -ENODEV when it has gone, what get() of its bus says, -EINTR. On 0 the
 * lock is held and lens_dev_end_use() must follow, which takes the result of the use and
 * returns it, or -ENODEV, or -ETIMEDOUT when the hardware took too long.
 */
int lens_dev_begin_use(struct lens_dev *dev);
int __must_check lens_dev_end_use(struct lens_dev *dev, int result);
/*
 * Like lens_dev_begin_use(), and serialises control requests: a request may drop dev->lock
 * while it polls, and a second write to the same register would be mistaken for the
 * completion of the first.
 */
int lens_dev_begin_control(struct lens_dev *dev);
int __must_check lens_dev_end_control(struct lens_dev *dev, int result);

/* -- permission.c -- */
/* Who may open a file of /proc/gpuX. */
enum lens_access {
	LENS_ACCESS_TOPOLOGY,	/* everyone */
	LENS_ACCESS_SCHEDULING,	/* lens_may_observe(); everyone with unsafe_world_readable=1 */
	LENS_ACCESS_RAW,	/* words as read: lens_may_observe(), and no lockdown */
	LENS_ACCESS_SAMPLES,	/* lens_may_observe() */
	LENS_ACCESS_CONTROL,	/* lens_may_control() */
};

/* Checks the module's parameters: 0 or -EINVAL. */
int lens_permission_init(void);
/* Mode of a file's entry in /proc, and the group of it that gid= names. */
umode_t lens_file_mode(enum lens_access access);
void lens_set_file_group(struct proc_dir_entry *entry, umode_t mode);
/*
 * May this file's opener and the caller read it? 0 or -EPERM. *observe: do they pass
 * lens_may_observe()? If not, no address and no TSG is shown.
 */
int lens_check_reader(enum lens_access access, const struct file *file, bool *observe);
/* May this file's opener and the caller see TSGs, channels, contexts and addresses? */
bool lens_may_observe(const struct file *file);
/* May they control the GPU? 0, -EPERM, -EACCES. */
int lens_may_control(const struct file *file);
/* -- budget.c -- */
/*
 * The time for which readers without a privilege may stop the machine, with
 * unsafe_world_readable=1. They take turns: begin() waits for the caller's (0 or -EINTR), and
 * every use of a GPU by this task is charged until end(). wait(): until the budget has ns
 * (or is full) and one stop more, 0 or -ERESTARTSYS.
 */
int lens_stop_budget_begin(void);
void lens_stop_budget_end(void);
int lens_stop_budget_wait(u64 ns);
bool lens_stop_is_budgeted(void);
bool lens_stop_budget_allows_stop(void);
void lens_stop_budget_charge(u64 stopped_ns, u64 took_ns);

/* -- trace.c -- */
/* A trace event for every control write, also for refused ones. */
void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result);

/* -- devices.c: the list of GPUs. Callers hold lens_devices_lock where said. -- */
/* Called with lens_devices_lock held for each GPU that is attached or detached. */
struct lens_devices_listener {
	int (*add)(struct lens_dev *dev);	/* error: the GPU is not attached */
	void (*remove)(struct lens_dev *dev);	/* returns when the GPU is used no more */
};

/* Before the first GPU is attached. */
void lens_devices_init(const struct lens_devices_listener *listener);
extern struct mutex lens_devices_lock;
/*
 * Attach a device unless it is attached; replaces one that went from the same place.
 * quiet: no message when it cannot be attached. Lock held. -EBUSY: another module has its
 * name; -EOPNOTSUPP: it is no GPU that is known; else it may be attached later.
 */
int lens_attach_device(const struct lens_bus *bus, struct device *device, bool quiet);
/* It went: no access any more, its files answer ENODEV. Takes the lock. */
void lens_unmap_device(struct device *device);
void lens_detach_devices(void);

/* sampler.c */
void lens_samplers_init(struct lens_dev *dev);
/* No access by any sampler after this; who waits for samples is told. */
void lens_samplers_stop(struct lens_dev *dev);

/* -- scan.c -- */
/* When a bus is searched for GPUs. */
struct lens_scan {
	/*
	 * Attach every GPU that is not attached. *again: one of them may be attached later.
	 * An error, at load: no other either.
	 */
	int (*attach_all)(bool quiet, bool *again);
	unsigned int settle_ms;		/* from an event to the search */
	unsigned int first_ms, last_ms;	/* between searches: doubles from first to last */
	bool quiet;			/* after load, no message about a GPU that cannot be read */
	unsigned int retry_ms;		/* time before this search; 0: after an event */
	struct delayed_work work;
};

/* Before lens_scan_schedule() can be called. */
void lens_scan_init(struct lens_scan *scan);
/* Search now, and again later if necessary. What attach_all() returned. */
int lens_scan_start(struct lens_scan *scan);
/* Search soon, after an event of the bus. */
void lens_scan_schedule(struct lens_scan *scan);
void lens_scan_stop(struct lens_scan *scan);

/* -- pci.c, platform.c -- */
int lens_pci_init(void);
void lens_pci_exit(void);
int lens_platform_init(void);
void lens_platform_exit(void);

/* mmio.c, sysmem.c */
/* Checks the module's parameters: 0 or -EINVAL. */
int lens_mmio_init(void);
extern const struct lens_io_ops lens_mmio_ops;
/*
 * The first access of a use: is this still the GPU that was attached, and how long does an
 * access take? 0, -ENODEV: all ones, or another GPU; -EIO: it does not answer as a GPU.
 */
int lens_mmio_probe_gpu(struct lens_dev *dev);
/*
 * -EIO: no ordinary memory; -ENXIO: the meaning of the address is unknown, since no driver
 * is bound or it keeps its translation to itself; -EBUSY: a driver is being bound or
 * unbound. These may sleep.
 */
int lens_sysmem_copy(struct lens_dev *dev, u64 addr, u64 *dst, u32 words);
int lens_sysmem_store32(struct lens_dev *dev, u64 addr, u32 val);
/* The same in three steps, of which the middle one may be taken with the machine stopped. */
int lens_sysmem_pin(struct lens_dev *dev, u64 addr, struct lens_pin *pin);
bool lens_sysmem_is_pinned(const struct lens_pin *pin, u64 addr, u64 bytes);
int lens_sysmem_read_pinned(const struct lens_pin *pin, u64 addr, void *dst, u32 bytes);
int lens_sysmem_store_pinned(const struct lens_pin *pin, u64 addr, u32 val);
void lens_sysmem_unpin(struct lens_pin *pin);

#endif /* _LENS_LINUX_H_ */
