/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own view of a GPU, shared by src/linux/ and procfs/.
 *
 * Locks, in the order in which they are taken: the PCI core's against rescans and
 * removals (around attach, and around what the bus announces), lens_devices_lock
 * (the list, attach and detach), a GPU's steering (one request at a time; held
 * while the hardware is waited for), a GPU's lock (its hardware; not held while it
 * is waited for). None is held while copying to user space or formatting.
 * A GPU's samplers' lock comes after lens_devices_lock and is taken with no other.
 */
#ifndef _LENS_LINUX_H_
#define _LENS_LINUX_H_

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>

#include "../../include/gpulens/gpu.h"

struct lens_dev;

/* What a bus knows of a device: PCI, or the platform bus on Tegra. */
struct lens_bus {
	/* Make BAR0 accessible: bar0 and bar0_len. May not leave anything behind on failure. */
	int (*map)(struct lens_dev *dev);
	void (*unmap)(struct lens_dev *dev);
	/*
	 * Before and after each use, so that it stays awake meanwhile. -ENODEV: it is not
	 * there; -EAGAIN: it sleeps, and was not to be woken. Both without an access.
	 */
	int (*get)(struct lens_dev *dev, bool wake);
	void (*put)(struct lens_dev *dev);
};

/* Who samples a GPU (sampler.h), and what all of them did. */
struct lens_samplers {
	struct mutex lock;		/* the list, and their threads' beginning and end */
	struct list_head list;
	u32 n;
	bool closed;			/* there will be no more */
	atomic64_t ticks, lost, reads;	/* with samples; without; registers read */
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
	struct mutex steering;		/* see lens_dev_steer() */
	struct mutex lock;		/* everything below */
	bool gone;			/* removed from its bus: no access any more */
	bool late;			/* this use took too long: no access any more in it */
	u64 until;			/* when this use, or stop of the machine, is late */
	void __iomem *bar0;
	resource_size_t bar0_len;
	struct lens_io io;
	struct lens_gpu gpu;		/* its topology never changes after attach */
};

/* Module parameters; modinfo explains them. */
extern bool lens_control;
extern int lens_gid;			/* -1: everybody may read */
extern bool lens_vram;

/*
 * Borrow the GPU: -ENODEV when it has gone, -EAGAIN when it sleeps, -EINTR. On 0
 * the lock is held and lens_dev_put() must follow, which takes what came of the
 * use and returns it, or -ETIMEDOUT when the hardware took too long.
 */
int lens_dev_get(struct lens_dev *dev);
int __must_check lens_dev_put(struct lens_dev *dev, int result);
/*
 * The same for who steers, for whom the GPU is woken. Only they may wait for the
 * hardware, which lets go of the lock meanwhile: one at a time, for a second
 * request to the same register would be taken for an answer to the first.
 */
int lens_dev_steer(struct lens_dev *dev);
int __must_check lens_dev_unsteer(struct lens_dev *dev, int result);
/*
 * Milliseconds for attaching a GPU, and for each use when timeout_ms does not say: long
 * enough for every runlist of a GPU on an emulated bus (40 us a word), short enough
 * for a person to wait for an error.
 */
#define LENS_TIMEOUT_MS 20000
/* Around the reading at attach, when nobody else knows of the GPU: wakes it. */
int lens_dev_begin(struct lens_dev *dev, bool wake, u32 ms);
int __must_check lens_dev_end(struct lens_dev *dev, int result);
/* With the lock held again after such a wait: 0, or -ENODEV when it went or fell asleep. */
int lens_dev_check(struct lens_dev *dev);

/* May this file's opener and the caller steer? 0, -EPERM, -EACCES. */
int lens_may_control(const struct file *file);
/* May they see addresses? */
bool lens_may_see_addresses(const struct file *file);
/* May they have raw words of registers and memory? Not under lockdown. */
bool lens_may_see_raw(const struct file *file);

/* May they sample, which only reads but keeps a processor at it? */
bool lens_may_sample(const struct file *file);

/* A trace event for every control write, also for refused ones. */
void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result);

/* devices.c: the GPUs there are. Callers hold lens_devices_lock where said. */
extern struct mutex lens_devices_lock;
/* Attach a device unless it is; replaces one that went from the same place. Lock held. */
int lens_attach(const struct lens_bus *bus, struct device *device);
/* It went: no access any more, its files answer ENODEV. Takes the lock. */
void lens_device_gone(struct device *device);
void lens_detach_all(void);

/* sampler.c */
void lens_samplers_init(struct lens_dev *dev);
/* No access by any sampler after this; who waits for samples is told. */
void lens_samplers_stop(struct lens_dev *dev);

/* pci.c, platform.c */
int lens_pci_init(void);
void lens_pci_exit(void);
int lens_platform_init(void);
void lens_platform_exit(void);

/* mmio.c, sysmem.c */
extern const struct lens_io_ops lens_mmio_ops;
int lens_sysmem_copy(struct lens_dev *dev, u64 addr, u64 *dst, u32 words);
int lens_sysmem_store32(struct lens_dev *dev, u64 addr, u32 val);

/* Implemented by procfs/: make and remove /proc/gpuX. */
int lens_proc_add(struct lens_dev *dev);
void lens_proc_remove(struct lens_dev *dev);

#endif /* _LENS_LINUX_H_ */
