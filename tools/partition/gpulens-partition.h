/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libgpulens-partition: the TPCs of each GPC of an NVIDIA GPU, masks of TPCs for tasks that must
 * not disturb each other, and CUDA streams whose kernels stay on the TPCs of such a mask.
 *
 * Masks. A mask is an array of gpulens_layout_words() 64-bit words. Bit n % 64 of word n / 64
 * stands for TPC n; a set bit means that the TPC is IN the mask. libsmctrl (libsmctrl.h) and the
 * launch descriptor use the inverse: there, a set bit disables the TPC.
 *
 * TPC numbers. Each layout has one of two numberings, see gpulens_layout_numbering(). Whatever puts
 * a mask into effect takes masks in the order of %smid only, and gpulens_mask_convert() converts
 * between them. GPC numbers are physical, but of layouts from the hardware's table of TPCs the
 * driver's.
 *
 * Errors. Unless stated otherwise, functions return 0 on success and a negative errno on failure;
 * gpulens_error() then returns a message. Output parameters are written on success only. A pointer
 * that must not be NULL but is gives -EINVAL.
 *
 * Threads. A layout does not change after it was made; any number of threads may use one.
 */
#ifndef GPULENS_PARTITION_H
#define GPULENS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The GPCs of one GPU and the TPCs of each. */
struct gpulens_layout;

/*
 * Returns the message of the calling thread's last failed call, "" if none failed. The string is
 * valid until the thread's next call of this library.
 */
const char *gpulens_error(void);

/*
 * Reads the layout of a GPU.
 * source: where to read it from:
 *         NULL or "auto"  the kernel module if it is loaded, with the SMs that NVIDIA's driver
 *                         reports; else NVIDIA's driver
 *         "module"        /proc/gpuX; topology needs no privilege
 *         "driver"        /dev/nvidiactl
 *         anything else   the path of an image or a snapshot
 * gpu:    index of the GPU from 0, in PCI order; for a file, its index in the file.
 * layout: the new layout, to be freed with gpulens_layout_close().
 * -ENODEV: there is no such GPU or source. -ENODATA: the source does not report the TPCs of GPCs.
 */
int gpulens_layout_open(const char *source, unsigned int gpu, struct gpulens_layout **layout);
/*
 * Makes the layout of an imaginary GPU.
 * tpcs: gpcs numbers; GPC i has tpcs[i] TPCs. TPCs are numbered GPC by GPC.
 * -EINVAL: no GPC, no TPC, or more than 65536 TPCs.
 */
int gpulens_layout_make(const unsigned int *tpcs, size_t gpcs, struct gpulens_layout **layout);
/* Frees a layout. NULL is allowed. */
void gpulens_layout_close(struct gpulens_layout *layout);

/* Returns the number of enabled GPCs. layout must not be NULL. */
unsigned int gpulens_layout_gpcs(const struct gpulens_layout *layout);
/* Returns the number of enabled TPCs. layout must not be NULL. */
unsigned int gpulens_layout_tpcs(const struct gpulens_layout *layout);
/* Returns the length of a mask of this GPU, in 64-bit words. layout must not be NULL. */
size_t gpulens_layout_words(const struct gpulens_layout *layout);
/* How the TPCs of a layout are numbered. */
enum gpulens_numbering {
	GPULENS_BY_GPC = 0,  /* GPC by GPC, in the order of physical GPCs */
	GPULENS_BY_SMID = 1, /* TPC n has the SMs with %smid / (SMs per TPC) == n, as in masks */
};
/*
 * Returns the numbering of a layout, an enum gpulens_numbering. It is GPULENS_BY_SMID if NVIDIA's
 * driver reports the SMs, or if the hardware's table of TPCs (CWD_GPC_TPC_ID) could be read, which
 * takes a CUDA context that is active. Otherwise, and of imaginary GPUs, it is GPULENS_BY_GPC.
 * evidence: how it is known, for people; valid until the layout is closed. NULL if not wanted.
 * layout must not be NULL.
 */
unsigned int gpulens_layout_numbering(const struct gpulens_layout *layout, const char **evidence);
/*
 * Converts a mask of one layout to the same TPCs of another layout of the same GPU.
 * mask, converted: gpulens_layout_words() words; they may be the same array.
 * -EINVAL: the layouts are of different GPUs. -ENODATA: the numberings differ, and one of the
 * layouts does not tell which physical GPC has which TPC, as one from the hardware's table.
 * -ENOENT: mask has a TPC that the GPU does not have.
 */
int gpulens_mask_convert(const struct gpulens_layout *from, const struct gpulens_layout *to,
			 const uint64_t *mask, uint64_t *converted);
/*
 * Describes one GPC.
 * index: from 0 to gpulens_layout_gpcs() - 1.
 * id:    the GPC's physical number; NULL if not wanted.
 * mask:  the TPCs of the GPC, gpulens_layout_words() words; NULL if not wanted.
 * -ENOENT: index is too large.
 */
int gpulens_layout_gpc(const struct gpulens_layout *layout, unsigned int index, unsigned int *id, uint64_t *mask);

/*
 * How a partition's TPCs are chosen from the GPCs. Otterness' SE-packed and SE-distributed
 * (RTAS'23 section VI-D), applied to GPCs.
 */
enum gpulens_placing {
	GPULENS_PACKED = 0,	 /* whole GPCs first, the rest where the fewest TPCs are left over */
	GPULENS_DISTRIBUTED = 1, /* evenly from as many GPCs as possible */
};

/*
 * Makes disjoint masks of given sizes. The largest partition is placed first.
 * sizes: n numbers of TPCs.
 * how:   enum gpulens_placing.
 * taken: TPCs that no mask may have, gpulens_layout_words() words; NULL if there are none.
 * masks: n masks of gpulens_layout_words() words each, one after the other; mask i has sizes[i] TPCs.
 * -ENOSPC: there are not enough TPCs. -EINVAL: a size is 0, or how is not an enum gpulens_placing.
 * -ENOENT: taken has a TPC that the GPU does not have.
 */
int gpulens_masks_make(const struct gpulens_layout *layout, const unsigned int *sizes, size_t n,
		       unsigned int how, const uint64_t *taken, uint64_t *masks);
/*
 * Makes the mask of all TPCs of some GPCs.
 * ids:  n physical GPC numbers.
 * mask: gpulens_layout_words() words.
 * -ENOENT: the GPU has no such GPC. -EINVAL: n is 0, or a GPC is given twice.
 */
int gpulens_mask_of_gpcs(const struct gpulens_layout *layout, const unsigned int *ids, size_t n, uint64_t *mask);
/*
 * Makes the mask of all TPCs that are not in mask. mask and complement may be the same array of
 * gpulens_layout_words() words.
 * -ENOENT: mask has a TPC that the GPU does not have.
 */
int gpulens_mask_complement(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t *complement);
/* Counts the TPCs of a mask. -ENOENT: mask has a TPC that the GPU does not have. */
int gpulens_mask_count(const struct gpulens_layout *layout, const uint64_t *mask, unsigned int *tpcs);
/*
 * Converts a mask to the TPC mask of a launch descriptor (version 4.0, Hopper).
 * disable: 128 bits, lowest first; a set bit disables a TPC. All are set but those of mask's TPCs.
 * The descriptor has NUM_TPC_PER_GPC bits for each virtual GPC (nine on the four H200s that were
 * probed, docs/results/2026-11-22-h200-masks.md). On any other GPU, verify the result with a kernel
 * that reads %smid before you rely on it.
 * -ENODATA: the layout has no virtual GPCs, which only NVIDIA's driver reports. -ERANGE: a TPC needs
 * a bit beyond 127. -EINVAL: mask is empty. -ENOENT: mask has a TPC that the GPU does not have.
 */
int gpulens_mask_launch(const struct gpulens_layout *layout, const uint64_t *mask, uint64_t disable[2]);
/*
 * Parses a mask.
 * text: "0-9,12" (TPCs), "0x3ff" (TPCs as bits), "gpc:2,3" (all TPCs of these GPCs), "all", or
 *       "half:a" and "half:b": whole GPCs with as close to half of the TPCs as whole GPCs allow.
 * mask: gpulens_layout_words() words.
 * -EINVAL: text has none of these forms. -ENOENT: the GPU has no such TPC or GPC.
 */
int gpulens_mask_parse(const struct gpulens_layout *layout, const char *text, uint64_t *mask);

/*
 * Checks that n partitions can be used together: no mask is empty and no TPC is in two masks.
 * masks: n masks of gpulens_layout_words() words each, one after the other.
 * split: gets all TPCs of the GPCs that more than one partition has TPCs of; these partitions
 *        share what exists once per GPC. NULL if not wanted.
 * -ENOENT: a mask has a TPC that the GPU does not have. -EINVAL: a mask is empty. -EBUSY: two masks
 * have the same TPC. gpulens_error() gives the masks' indices, from 0, and the TPC.
 */
int gpulens_masks_check(const struct gpulens_layout *layout, const uint64_t *masks, size_t n, uint64_t *split);

/*
 * The functions below run CUDA work on a partition of one GPU: the GPU of the calling thread's
 * CUDA context. If the thread has no context, they make the primary context of device 0 current
 * in it. They are for programs that use one GPU.
 */

/* How a partition is enforced. */
enum gpulens_way {
	/*
	 * A mask in the descriptor of each launch, as in libsmctrl.h; any set of TPCs. A cooperative
	 * launch of clusters or of more blocks than the mask has SMs, and a launch of clusters of more
	 * blocks than the mask has SMs in one virtual GPC (gpulens --source rm gpcs), end the program:
	 * they could wait for ever. From Pascal to Ada they are not recognized, and this way is
	 * refused (-ENOSYS) unless the environment has GPULENS_NO_COOPERATIVE=1, which states that
	 * the program makes no such launches.
	 */
	GPULENS_MASKS = 0,
	/* A green context of the driver's smallest SM groups: single TPCs on an H200. */
	GPULENS_GREEN = 1,
	/*
	 * A green context of groups whose SMs can run one thread-block cluster: on an H200, 4 TPCs
	 * of one virtual GPC, and the rest (6 TPCs there) as one group.
	 */
	GPULENS_GREEN_CLUSTERS = 2,
};
/*
 * Tests whether a way works here, and returns its granularity.
 * way:  enum gpulens_way.
 * tpcs: the number of TPCs that a partition grows by.
 * The first call for a way runs about 66 probe kernels.
 * -EINVAL: way is not an enum gpulens_way. -ENODEV: no CUDA, or NVIDIA's driver does not report the
 * GPU or its GPCs. -ENODATA, -ERANGE (GPULENS_MASKS): as gpulens_mask_launch(). -ENOSYS, -ENOTSUP,
 * -EIO: the way does not work here; gpulens_error() gives the reason. Once a process has used launch
 * masks, the driver creates no green contexts in it any more (seen with driver 580).
 */
int gpulens_way_granule(unsigned int way, unsigned int *tpcs);
/*
 * Reads the layout of the current CUDA GPU from NVIDIA's driver. If the driver does not report the
 * SMs, the layout is found with launch masks, and has TPCs and no GPCs. -ENODEV, -ENOSYS, -EIO: as
 * gpulens_way_granule().
 */
int gpulens_layout_open_cuda(struct gpulens_layout **layout);

/* A CUDA stream whose kernels stay on some TPCs. */
struct gpulens_partition;
/*
 * Opens a partition with at least the TPCs of mask: it has all TPCs of each SM group that has a TPC
 * of mask. A probe kernel verifies the partition before the function returns. Use
 * gpulens_masks_check() on the results of gpulens_partition_tpcs() to find overlaps.
 * way:  enum gpulens_way.
 * mask: gpulens_layout_words() words.
 * -EINVAL: mask is empty, way is not an enum gpulens_way, or layout is another GPU's. -ENODATA:
 * layout is not GPULENS_BY_SMID. -ENOENT: mask
 * has a TPC that the GPU does not have. -ENOSPC: a TPC is in no SM group of the driver. Otherwise as
 * gpulens_way_granule().
 */
int gpulens_partition_open(const struct gpulens_layout *layout, unsigned int way, const uint64_t *mask,
			   struct gpulens_partition **partition);
/* Returns the TPCs that the partition has; mask: gpulens_layout_words() words. */
int gpulens_partition_tpcs(const struct gpulens_partition *partition, uint64_t *mask);
/*
 * Returns the partition's stream, a CUstream (cudaStream_t). Kernels launched in it run on the
 * partition's TPCs only. The stream is non-blocking, belongs to the primary context, and is
 * destroyed by gpulens_partition_close(). partition must not be NULL.
 */
void *gpulens_partition_stream(const struct gpulens_partition *partition);
/*
 * Destroys the stream and removes its mask. Call it when no work is left in the stream. NULL is
 * allowed.
 */
void gpulens_partition_close(struct gpulens_partition *partition);

/*
 * The functions below let threads of several processes take turns: the jobs of a plan in their
 * partitions, or any jobs on k slots. They share a file in $GPULENS_RUNTIME_DIR, or
 * $XDG_RUNTIME_DIR/gpulens, or /run/gpulens (root), or /run/user/UID/gpulens; only processes of
 * one user and one namespace of process ids (container) take turns with each other. docs/partition.md
 * describes the order, what happens to a thread that ends while it runs or waits, and the costs.
 *
 * A thread may run one job of a plan, or hold one slot of an open lock, at a time (-EDEADLK), and
 * ends it itself (-EPERM in another thread, or in a child after fork()). It waits without a time
 * limit, and cannot be cancelled meanwhile. -EUSERS: 64 threads run and wait in a partition or lock
 * already, or the thread is in eight plans and locks. Times are of CLOCK_MONOTONIC, in nanoseconds.
 */

/* A plan that is carried out. */
struct gpulens_plan;
/* For gpulens_plan_open(): jobs take turns and get no stream. */
#define GPULENS_TURNS_ONLY 0xffu
/*
 * Opens a plan, the output of gpulens plan --json.
 * file: its path.
 * way:  enum gpulens_way: how the streams are kept on their partitions. Or GPULENS_TURNS_ONLY, for
 *       programs that are on their partition already (gpulens run --plan); then CUDA is not used.
 * Jobs run in the order of the plan's test: np-edf and lp-edf by deadline, np-dm and lp-dm by
 * relative deadline (first come, first served among jobs of a task), fifo as they came.
 * -EINVAL: it is no plan, or is for another GPU; or its test takes jobs to be preempted at any time,
 * and tasks share a partition. -EBUSY: other processes carry out another plan on this GPU. -ENODEV:
 * a file cannot be used. Otherwise as gpulens_layout_open_cuda().
 */
int gpulens_plan_open(const char *file, unsigned int way, struct gpulens_plan **plan);
/*
 * Finds a task by its name, and opens the stream of its partition, which takes as long as
 * gpulens_partition_open().
 * task: a number for the functions below.
 * -ENOENT: the plan has no such task. Otherwise as gpulens_partition_open().
 */
int gpulens_plan_task(struct gpulens_plan *plan, const char *name, unsigned int *task);
/* What a task's jobs did, in all processes, since the file that they share was made. */
struct gpulens_counts {
	uint64_t jobs;		  /* that ended */
	uint64_t waits;		  /* jobs that did not run at once */
	uint64_t overruns;	  /* jobs that ran for longer than the plan's time */
	uint64_t misses;	  /* jobs that ended after their deadline */
	uint64_t deaths;	  /* threads that ended while they ran or waited */
	uint64_t longest_wait_ns; /* until a job ran */
	uint64_t longest_run_ns;  /* without the time of jobs to which it yielded */
};
/*
 * Reads the counts of a task.
 * size: sizeof(struct gpulens_counts); a later release may add members at the end.
 * -EINVAL: there is no such task.
 */
int gpulens_plan_counts(const struct gpulens_plan *plan, unsigned int task, struct gpulens_counts *counts,
			size_t size);
/*
 * Closes a plan and its streams. No thread of the process may run a job of it. NULL is allowed.
 */
void gpulens_plan_close(struct gpulens_plan *plan);

/*
 * Begins a job: waits until no other job runs in the task's partition and none comes first.
 * release: when the job was released, from which its deadline counts; 0: now.
 * stream:  a CUstream on the partition, for the job's kernels; NULL with GPULENS_TURNS_ONLY.
 * An uncontended call makes no system call. -EINVAL: there is no such task, or it has no stream in
 * this process, because gpulens_plan_task() was not called. -EDEADLK: the thread runs a job of the plan
 * already, maybe by another handle of it.
 */
int gpulens_job_begin(struct gpulens_plan *plan, unsigned int task, uint64_t release, void **stream);
/*
 * For between two kernels of a job: waits for the work in the stream, lets a job that comes first
 * run, and waits for the partition again. In plans by a test other than lp-edf and lp-dm, where jobs
 * are not preempted, it does nothing. -EPERM: the thread runs no job. -EIO: work in the stream failed.
 */
int gpulens_job_yield(struct gpulens_plan *plan);
/*
 * Ends the calling thread's job, when the work in the stream is done. With GPULENS_TURNS_ONLY the
 * caller waits for that work before. -EPERM: the thread runs no job. -EIO: work in the stream failed;
 * the job has ended.
 */
int gpulens_job_end(struct gpulens_plan *plan);

/*
 * A lock with k slots (k-exclusion): at most k threads hold one, the others wait in FIFO order, after programs of
 * gpulens run --slot that have a priority or a deadline.
 */
struct gpulens_slots;
/*
 * Opens a lock.
 * name: of up to 64 letters, digits, '.', '-' and '_', beginning with a letter or digit. Processes that
 *       open the same name share the lock.
 * k:    the number of slots, 1 to 64.
 * -EINVAL: name or k. -EBUSY: other processes have the lock open with another number of slots; see
 * gpulens_slot_set(). -ENODEV: the file cannot be used.
 */
int gpulens_slot_open(const char *name, unsigned int k, struct gpulens_slots **slots);
/*
 * Waits for a free slot. slot: its number, from 0 to k - 1. -EDEADLK: the thread holds one already, maybe by
 * another handle of the lock.
 */
int gpulens_slot_acquire(struct gpulens_slots *slots, unsigned int *slot);
/* Gives the slot back. -EPERM: the calling thread does not hold this slot. */
int gpulens_slot_release(struct gpulens_slots *slots, unsigned int slot);
/*
 * Changes the number of slots, at once if none is held. Otherwise no thread gets a slot until all are
 * released, and then k of them can be held. The function does not wait for that. -EINVAL: k is not 1 to
 * 64.
 */
int gpulens_slot_set(struct gpulens_slots *slots, unsigned int k);
/* Reads the counts of a lock, as gpulens_plan_counts(). overruns and misses are 0. */
int gpulens_slot_counts(const struct gpulens_slots *slots, struct gpulens_counts *counts, size_t size);
/* Closes a lock. No thread of the process may hold a slot of it. NULL is allowed. */
void gpulens_slot_close(struct gpulens_slots *slots);

/*
 * The functions below are for programs that gpulens run --schedule task=NAME has started. They tell
 * gpulens schedule --source rm when the program has work: between two jobs the task is idle, so that
 * it is neither chosen nor held. They wait for nothing, and have no effect while no coordinator runs.
 * A process runs one job at a time; any of its threads may begin and end it. A child after fork() has
 * jobs of its own.
 *
 * -ENODEV: the program was not started so. -EAGAIN: the process has no CUDA context yet, or is about to
 * make the first one.
 */

/*
 * Begins a job. Call it before the first kernel of the job is launched.
 * deadline: when the job is to be finished (CLOCK_MONOTONIC, ns), from which it is counted as missed;
 *           0: as the policy says. For EDF, only a deadline that is later than the policy's counts.
 * -EDEADLK: a job of this process runs already.
 */
int gpulens_schedule_begin(uint64_t deadline);
/*
 * Ends the job. Call it when the work of the job is done (cudaStreamSynchronize()): what is still
 * queued is not scheduled any more, and shares the GPU with the other programs. -EPERM: no job runs.
 */
int gpulens_schedule_end(void);

#ifdef __cplusplus
}
#endif

#endif /* GPULENS_PARTITION_H */
