/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface of the files of /proc/gpuX: what one of them is, and what they share.
 */
#ifndef _LENS_FILES_H_
#define _LENS_FILES_H_

#include "../include/gpulens/bar.h"
#include "../include/uapi/gpulens.h"
#include "../src/linux/device.h"
#include "../src/linux/permission.h"
#include "format.h"
#include "parse.h"

/* One entry of a GPU's directory. arg: runlist id, GPC, PCE or GRCE. */
struct lens_file {
	struct lens_dev *dev;
	const struct lens_file_type *type;
	u32 arg;
	/* Numbers of reads or writes, and of those that failed. Atomic: counted without a lock. */
	atomic64_t calls, failed;
	atomic_t inside;	/* calls in progress, for lens_proc_report_users() */
	pid_t caller;		/* of the last of them */
};

/* A write to a control file. */
struct lens_file_request {
	const void *owner;	/* the open file, whose close ends its holds */
	struct lens_ref ref;
	u32 value;		/* behind the id */
	int runlist;		/* set by act: where the id was found, or LENS_NONE */
};

struct lens_file_type {
	const char *name;	/* %u: arg */
	enum lens_access access;
	bool kept;		/* shows what was read at attach; also while the GPU is asleep */
	const struct proc_ops *ops;	/* of its own, for a file that is neither text nor id */
	/*
	 * Collect, with the GPU's lock held by this function, then format without it. observe:
	 * the reader passes lens_may_observe(); if not, no address and no TSG is shown.
	 */
	int (*show)(const struct lens_file *f, bool observe, struct lens_text *t);
	/* A number: of the topology or the copy engines' map, and the topology's error. */
	u16 offset, err;
	u8 bytes;
	/* Carry out a request. With the GPU's lock held. */
	int (*act)(struct lens_dev *dev, struct lens_file_request *r);
	enum lens_form form;	/* of a request's text */
};

static inline bool lens_file_is_control(const struct lens_file_type *type)
{
	return type->access == LENS_ACCESS_CONTROL;
}

static inline void lens_file_enter(struct lens_file *f)
{
	atomic_inc(&f->inside);
	WRITE_ONCE(f->caller, task_pid_nr(current));
}

static inline void lens_file_leave(struct lens_file *f)
{
	atomic_dec(&f->inside);
}

/* -- collect.c -- */
/*
 * Allocate memory for a runlist of any length, and read it, with its contexts if asked for. Free
 * with lens_snap_free(), also after an error.
 */
int lens_snap_collect(struct lens_dev *dev, struct lens_runlist_snap *snap, bool contexts);
/* The same, with the GPU's lock held. */
int lens_snap_fill(struct lens_gpu *gpu, struct lens_runlist_snap *snap, bool contexts);
void lens_snap_free(struct lens_runlist_snap *snap);
/*
 * Read what bars shows, at most LENS_BARS_WORDS words of page tables for each BAR. Free with
 * kvfree(). ERR_PTR(): -ENOMEM, errors of lens_dev_begin_use() and lens_bars_collect().
 */
struct lens_bars *lens_bars_read(struct lens_dev *dev, struct lens_gpu *gpu);

/* -- stats.c -- */
/* Count a read, a write or the beginning of a sampling, and whether it failed. */
void lens_stats_count_call(struct lens_file *f, int err);

/* -- files that show.c lists, and control.c -- */
int lens_show_snapshot(const struct lens_file *f, bool observe, struct lens_text *t);
int lens_show_stats(const struct lens_file *f, bool observe, struct lens_text *t);
int lens_show_image(const struct lens_file *f, bool observe, struct lens_text *t);

/* Make and remove /proc/gpuX. -EBUSY: another module has that name. */
int lens_proc_add_gpu(struct lens_dev *dev);
void lens_proc_remove_gpu(struct lens_dev *dev);
/* Log which processes are inside of a file, for whom lens_proc_remove_gpu() waits. */
void lens_proc_report_users(struct lens_dev *dev);

extern const struct proc_ops lens_samples_ops;
/* Files of each GPU, once. */
extern const struct lens_file_type lens_single_files[];
extern const u32 lens_single_file_count;
/* Once per runlist, GPC, PCE and GRCE. */
extern const struct lens_file_type lens_runlist_file, lens_tpc_mask_file;
extern const struct lens_file_type lens_lce_for_pce_file, lens_shared_lce_file;
/* Once per word of the table. */
extern const struct lens_file_type lens_cwd_gpc_tpc_id_file, lens_cwd_sm_id_file;
extern const struct lens_file_type lens_control_files[];
extern const u32 lens_control_file_count;
/* Log which runlists hold a bare id that was refused. With the GPU's lock held. */
void lens_control_report_holders(const struct lens_file *f, u32 id);

#endif /* _LENS_FILES_H_ */
