/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's state of a GPU, shared by src/linux/ and procfs/. The locks and their order are in
 * docs/internals.md, "Locks".
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
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../../include/gpulens/gpu.h"

struct lens_dev;

/* Operations of a bus: PCI, or the platform bus on Tegra. */
struct lens_bus {
	/* Set bar0, bar0_start and bar0_len. Nothing to undo after an error. */
	int (*map)(struct lens_dev *dev);
	void (*unmap)(struct lens_dev *dev);
	/*
	 * Keep the device from being suspended until put(). On PCI, neither enables nor wakes it.
	 * -ENODEV: not present; -ENODATA: asleep; -ENXIO: memory decoding is off or BAR0 moved;
	 * -EIO: error recovery (AER, EEH) is in progress. All without an access to BAR0.
	 */
	int (*get)(struct lens_dev *dev);
	void (*put)(struct lens_dev *dev);
};

/* A page of system memory that is held, for use while the machine is stopped. */
struct lens_pin {
	u64 bus;		/* bus address of its first byte */
	struct page *page;	/* a reference is held; NULL: nothing is pinned */
	void *at, *map;		/* its address; the mapping made for it, or NULL */
};

/* The samplers of a GPU (sampler.h), and counters of all of them. */
struct lens_samplers {
	struct mutex lock;		/* the list; start and stop of their threads */
	struct list_head list;
	u32 n;
	bool closed;			/* no sampler may start any more */
	atomic64_t ticks, lost, reads;	/* ticks with and without samples; register reads */
};

/*
 * One use of a GPU, from lens_dev_begin_use() to lens_dev_end_use(). Accesses are refused when it
 * is over, and in a stop of the machine when that is over (cut).
 */
struct lens_use {
	struct task_struct *task;	/* the caller; stop_machine() runs in another task */
	u64 until;			/* end of the use, ns of CLOCK_MONOTONIC */
	u64 resched_ns;			/* time of the last cond_resched() */
	u32 access_ns;			/* time of one access, measured at the beginning */
	int over;			/* no more accesses: -ETIMEDOUT, -EBUSY (lens_dev.ending) */
	bool ends_holds;		/* goes on in spite of lens_dev.ending and of signals */
	bool device_locked;		/* the caller holds the device's lock */
	struct lens_pin pin;		/* system memory that can be accessed in a stop */

	/* While the machine is stopped. */
	bool stopped, cut;
	bool wrote;			/* in atomic() */
	u32 left, timed;		/* accesses left in the stop; left to be timed */
	u64 stop_began, soon, stop_until;	/* soon: no new work after it */
};

/* Channels that open files hold (holds.c). */
struct lens_holds {
	spinlock_t lock;		/* protects the list and what is in it */
	struct list_head list;
	u32 n;
	u8 refused;			/* LENS_HOLDS_*: why none may begin */
	unsigned int retry_ms;		/* until the next attempt to end those that are due */
	struct delayed_work work;
};

/* What PRAMIN returns for 64-bit reads. */
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
	struct workqueue_struct *wq;	/* the module's: unbound, and not frozen */
	struct device *device;		/* a reference is held */
	struct pci_dev *pdev;		/* the same; NULL on the platform bus */
	struct work_struct removal;	/* of its files */
	bool files_removed, replaced;	/* a GPU at its address has another number */
	struct proc_dir_entry *dir;
	struct lens_file *files;	/* data of the entries of dir; procfs/files.h */
	u32 n_files, max_files;

	struct lens_samplers samplers;
	struct lens_holds holds;
	/* Set without the lock. No more accesses: removed; the machine sleeps; holds are ended. */
	u8 gone, suspended, ending;
	struct mutex control_lock;	/* see lens_dev_begin_control() */
	struct mutex lock;		/* protects everything below */
	void __iomem *bar0;		/* NULL once unmapped */
	resource_size_t bar0_start, bar0_len;
	struct lens_use use;
	struct lens_io io;
	enum lens_rd64 rd64;
	struct lens_gpu gpu;		/* constant after attach */
};

/* Is the device lent to another Xen domain? Under device_lock() or in a bus event. */
static inline bool lens_is_lent(const struct device *device)
{
	return device->driver && !strcmp(device->driver->name, "pciback");
}

/*
 * Keep the device from being suspended until lens_dev_release(). 0, -ENODEV when it has gone,
 * -ENODATA while the machine sleeps, or what get() of its bus returns.
 */
static inline int lens_dev_acquire(struct lens_dev *dev)
{
	if (READ_ONCE(dev->gone))
		return -ENODEV;
	return READ_ONCE(dev->suspended) ? -ENODATA : dev->bus->get(dev);
}

static inline void lens_dev_release(struct lens_dev *dev)
{
	dev->bus->put(dev);
}

/* -- use.c -- */
/*
 * Begin a use. 0, with the lock held until lens_dev_end_use(); errors of lens_dev_acquire() and
 * lens_mmio_probe_gpu(); -EBUSY: lens_dev.ending; -EINTR. lens_dev_end_use() returns the result of
 * the use, which it is given, or -ENODEV, -ETIMEDOUT or -EBUSY (holds are ended).
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
/*
 * Like lens_dev_begin_control(), to end holds, for ms milliseconds: not interrupted, and not
 * refused because of lens_dev.ending. device_locked: the caller holds the device's lock.
 */
int lens_dev_begin_ending(struct lens_dev *dev, u32 ms, bool device_locked);
/* The same as a use for ms milliseconds, where nobody else can use the GPU or its lock is held. */
int lens_dev_begin_locked(struct lens_dev *dev, u32 ms);
int __must_check lens_dev_end_locked(struct lens_dev *dev, int result);

/* -- holds.c -- */
/* A hold ends so long after its beginning, unless its file asks for less or renews it. */
#define LENS_HOLD_MS 1000
/* Holds of a GPU at a time. */
#define LENS_HOLDS_MAX 64

/* Why no hold may begin. */
#define LENS_HOLDS_UNBIND	BIT(0)	/* the driver is being unbound */
#define LENS_HOLDS_SUSPEND	BIT(1)	/* the machine sleeps, or is about to */
#define LENS_HOLDS_GONE		BIT(2)	/* the GPU is removed, or the module unloaded */

void lens_holds_init(struct lens_dev *dev);
/*
 * Disable a channel for ms milliseconds (0: LENS_HOLD_MS) or until owner, an open file, is closed.
 * Within a control request. 0, also where owner holds it already: it is disabled again, and its
 * time goes on if ms is 0, else begins again; *runlist as for lens_channel_enable(). -EALREADY: it
 * is disabled, not by a hold; -EBUSY: another file holds it, or LENS_HOLDS_UNBIND or ..._SUSPEND;
 * -ENOSPC: LENS_HOLDS_MAX; -ENODEV; -ENOMEM; errors of lens_channel_find() and
 * lens_channel_enable_same().
 */
int lens_hold_begin(struct lens_dev *dev, const void *owner, const struct lens_ref *ref, u32 ms,
		    int *runlist);
/* The holds of owner end ms milliseconds from now. No access. 0; -ENOENT: it holds nothing. */
int lens_holds_renew(struct lens_dev *dev, const void *owner, u32 ms);
/* A request has set the channel's state: a hold of it ends without effect. */
void lens_hold_drop(struct lens_dev *dev, int runlist, u32 id);
/* owner is closed: its holds end soon, in a worker. */
void lens_holds_end_owner(struct lens_dev *dev, const void *owner);
/*
 * No hold begins any more, for that reason; end all. Returns at once if there is none. Those that
 * cannot be ended are dropped, except for LENS_HOLDS_SUSPEND. With lens_devices_lock held.
 */
void lens_holds_end_all(struct lens_dev *dev, u8 why);
/* Holds may begin again, as far as that reason is concerned. */
void lens_holds_allow(struct lens_dev *dev, u8 why);
/* Wait for the worker, which does not run again unless a hold begins or lens_holds_allow(). */
void lens_holds_stop(struct lens_dev *dev);

/* -- permission.c -- */
/* Who may open a file of /proc/gpuX. */
enum lens_access {
	LENS_ACCESS_TOPOLOGY,	/* everyone */
	LENS_ACCESS_SCHEDULING,	/* lens_may_observe() */
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
/* May they control the GPU? 0; -EPERM; -EACCES: the module was loaded with control=0. */
int lens_may_control(const struct file *file);
/* -- trace.c -- */
/* Trace a write to a control file, also a refused one. */
void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result);

/* Its status was not readable, or was not read yet. */
#define LENS_TRACE_UNKNOWN (-2)

/* What a sampler found on an engine: ids; LENS_NONE: none; LENS_TRACE_UNKNOWN. */
struct lens_trace_occupant {
	int tsg, channel;
};

/*
 * Trace that a sampler found another occupant on an engine than in its sample before. engine is an
 * index into the topology's engines; ns, of CLOCK_MONOTONIC, is the time of the sample.
 */
void lens_trace_engine_switch(const struct lens_dev *dev, u32 engine, u64 ns,
			      const struct lens_trace_occupant *from,
			      const struct lens_trace_occupant *to);

/* -- devices.c -- */
/* add and report_users are called with lens_devices_lock held, remove without a lock. */
struct lens_devices_listener {
	int (*add)(struct lens_dev *dev);	/* error: the GPU is not attached */
	void (*remove)(struct lens_dev *dev);	/* returns when the GPU is used no more */
	void (*report_users)(struct lens_dev *dev);	/* log for whom remove waits */
};

/* Before the first GPU is attached: 0 or -ENOMEM. */
int lens_devices_init(const struct lens_devices_listener *listener);
/* Detach all GPUs, and wait until nobody is inside of a file. */
void lens_devices_exit(void);
extern struct mutex lens_devices_lock;
/*
 * Attach a device unless it is attached, in place of a removed one of the same name. Under
 * lens_devices_lock. quiet: no message after an error. -EBUSY: another module has its /proc name;
 * -EOPNOTSUPP: not a GPU of a known generation; -EINPROGRESS: the files of the removed one are
 * being removed, try again after lens_devices_wait_removed(); after other errors, later.
 */
int lens_attach_device(const struct lens_bus *bus, struct device *device, bool quiet);
/* The device is being removed: no more accesses, its files return ENODEV. Takes the lock. */
void lens_unmap_device(struct device *device);
/* Its driver is being unbound: holds end; or was unbound. Takes the lock. */
void lens_release_device(struct device *device);
void lens_device_is_free(struct device *device);
/* Wait, without a lock, until no files are being removed, ms at most. False: none were. */
bool lens_devices_wait_removed(unsigned int ms);

/* -- sampler.c -- */
void lens_samplers_init(struct lens_dev *dev);
/* No access by a sampler after this. Wakes readers that wait for samples. */
void lens_samplers_stop(struct lens_dev *dev);
/* Wait for accesses in progress: at most for a batch of samples. */
void lens_samplers_drain(struct lens_dev *dev);

/* -- scan.c -- */
/* Searches of a bus for GPUs. */
struct lens_scan {
	/*
	 * Attach every GPU that is not attached. *again: try again later. At load, an error
	 * means that loading fails.
	 */
	int (*attach_all)(bool quiet, bool *again);
	unsigned int settle_ms;		/* from an event to the search */
	unsigned int first_ms, last_ms;	/* between retries: doubles from first to last */
	bool quiet;			/* no messages after load */
	unsigned int retry_ms;		/* of the retry in progress; 0: none */
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

/* -- mmio.c -- */
/* Checks the module's parameters: 0 or -EINVAL. */
int lens_mmio_init(void);
extern const struct lens_io_ops lens_mmio_ops;
/*
 * First access of a use: checks BOOT_0 and measures the duration of an access. 0; -ENODEV: all
 * ones, or another GPU; -EIO: not the BOOT_0 of a GPU.
 */
int lens_mmio_probe_gpu(struct lens_dev *dev);

/* -- sysmem.c -- */
/*
 * Copy or store words of system memory at a bus address. May sleep. -EIO: not ordinary memory;
 * -ENXIO: the translation is unknown to the kernel; -EBUSY: the device's lock is held, as while a
 * driver is bound; -ENOMEM.
 */
int lens_sysmem_copy(struct lens_dev *dev, u64 addr, u64 *dst, u32 words);
int lens_sysmem_store32(struct lens_dev *dev, u64 addr, u32 val);
/* The same in steps: only pin and unpin may sleep. */
int lens_sysmem_pin(struct lens_dev *dev, u64 addr, struct lens_pin *pin);
bool lens_sysmem_is_pinned(const struct lens_pin *pin, u64 addr, u64 bytes);
int lens_sysmem_read_pinned(const struct lens_pin *pin, u64 addr, void *dst, u32 bytes);
int lens_sysmem_store_pinned(const struct lens_pin *pin, u64 addr, u32 val);
void lens_sysmem_unpin(struct lens_pin *pin);

#endif /* _LENS_LINUX_H_ */
