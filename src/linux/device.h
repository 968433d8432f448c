/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's state of a GPU. The locks and their order are in docs/internals.md, "Locks".
 */
#ifndef _LENS_DEVICE_H_
#define _LENS_DEVICE_H_

#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "../../include/gpulens/gpu.h"
#include "bus.h"
#include "holds.h"
#include "sampler.h"
#include "use.h"

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
	struct mutex turn;		/* of readers, to ask for the lock */
	struct mutex lock;		/* protects everything below */
	void __iomem *bar0;		/* NULL once unmapped */
	resource_size_t bar0_start, bar0_len;
	struct lens_use use;
	struct lens_io io;
	enum lens_rd64 rd64;
	struct lens_gpu gpu;		/* constant after attach */
};

static inline struct lens_dev *lens_io_to_dev(struct lens_io *io)
{
	return container_of(io, struct lens_dev, io);
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

/* Is the use over: its time limit passed, its task killed, the GPU removed, or holds are ended? */
static inline bool lens_use_is_over(struct lens_dev *dev, u64 now)
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

#endif /* _LENS_DEVICE_H_ */
