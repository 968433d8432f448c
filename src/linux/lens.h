/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own view of a GPU, shared by src/linux/ and procfs/.
 *
 * Locks: lens_devices_lock (the list, attach and detach) is taken before a
 * GPU's lock (its hardware). Neither is held while copying to user space or
 * formatting.
 */
#ifndef _LENS_LINUX_H_
#define _LENS_LINUX_H_

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>

#include "../../include/gpulens/gpu.h"

struct lens_dev {
	struct list_head link;		/* lens_devices, by index */
	int index;			/* the X of /proc/gpuX */
	char where[32];			/* PCI address or platform name */
	struct pci_dev *pdev;		/* a reference is held; NULL on Tegra */
	struct proc_dir_entry *dir;
	struct lens_file *files;	/* what the entries of dir refer to; procfs/files.h */
	u32 n_files, max_files;

	struct mutex lock;		/* everything below */
	bool gone;			/* removed from the bus: no access any more */
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
 * Borrow the GPU: -ENODEV when it has gone or sleeps, -EINTR. On 0 the lock is
 * held and lens_dev_put() must follow.
 */
int lens_dev_get(struct lens_dev *dev);
void lens_dev_put(struct lens_dev *dev);

/* May this file's opener and the caller steer? 0, -EPERM, -EACCES. */
int lens_may_control(const struct file *file);
/* May they see addresses? */
bool lens_may_see_addresses(const struct file *file);

/* A trace event for every control write, also for refused ones. */
void lens_trace_control(const struct lens_dev *dev, const char *action, int runlist, s64 id,
			int result);

/* mmio.c */
extern const struct lens_io_ops lens_mmio_ops;

/* pci.c */
int lens_pci_init(void);
void lens_pci_exit(void);

/* Implemented by procfs/: make and remove /proc/gpuX. */
int lens_proc_add(struct lens_dev *dev);
void lens_proc_remove(struct lens_dev *dev);

#endif /* _LENS_LINUX_H_ */
