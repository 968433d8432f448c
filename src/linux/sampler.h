/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samplers: a thread and a ring of samples for each open /proc/gpuX/samples.
 */
#ifndef _LENS_SAMPLER_H_
#define _LENS_SAMPLER_H_

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/wait.h>

#include "../../include/gpulens/runlist.h"
#include "../../include/uapi/gpulens.h"
#include "trace.h"

struct lens_dev;

/* The samplers of a GPU (sampler.h), and counters of all of them. */
struct lens_samplers {
	struct mutex lock;		/* the list; start and stop of their threads */
	struct list_head list;
	u32 n;
	bool closed;			/* no sampler may start any more */
	atomic64_t ticks, lost, reads;	/* ticks with and without samples; register reads */
};

void lens_samplers_init(struct lens_dev *dev);
/* No access by a sampler after this. Wakes readers that wait for samples. */
void lens_samplers_stop(struct lens_dev *dev);
/* Wait for accesses in progress: at most for a batch of samples. */
void lens_samplers_drain(struct lens_dev *dev);

/* Default ring capacity, in samples: 1 MiB. */
#define LENS_SAMPLER_ROOM 65536

/* Ticks without samples, and when the first of them was due. */
struct lens_missed {
	u64 first_ns;
	u32 ticks;
};

/* Status registers of an engine, and what the last sample found there. */
struct lens_sampled {
	u32 regs, reg[2];		/* number of them; BAR0 offsets */
	struct lens_trace_occupant last;
};

struct lens_sampler {
	wait_queue_head_t wait;		/* for samples or for the end */
	struct rcu_head rcu;		/* epoll may use wait until the grace period ends */
	struct lens_dev *dev;
	struct list_head link;		/* on dev->samplers.list from start to free */
	struct task_struct *task;	/* NULL once stopped */
	struct mutex access;		/* held by the thread while it uses the GPU */
	int ended;			/* there will be no more samples */
	u64 start_ns, period_ns;
	u32 n_engines;
	u16 engines[LENS_MAX_ENGINES];	/* indices into the topology's engines */

	/* Used by the thread alone while it runs. */
	struct lens_sampled sampled[LENS_MAX_ENGINES];
	u64 due;			/* time of the next tick, ns */
	bool slept, ones;		/* GPU was asleep; a register read all ones */
	struct lens_missed full, late, asleep;

	/* One writer, the thread, and one reader at a time. Modulo room they are indices. */
	u32 head, tail;
	u32 room;			/* a power of two */
	struct gpulens_sample *ring;
};

struct lens_sampler *lens_sampler_alloc(struct lens_dev *dev);
/*
 * Sample the engines of these runlists; n_runlists 0: of all. 0; -EBUSY, too many samplers;
 * -ENODEV, the GPU was removed; -EOPNOTSUPP, no status register of these engines is known;
 * -E2BIG, more engines than a sample can name; -ENOMEM.
 */
int lens_sampler_start(struct lens_sampler *s, u32 period_us, const u32 *runlists,
		       u32 n_runlists);
/* Is there something to read, or has sampling ended? For waiting readers. */
bool lens_sampler_is_ready(const struct lens_sampler *s);
bool lens_sampler_has_ended(const struct lens_sampler *s);
/*
 * For one reader at a time. Returns the number of contiguous samples, the first of them at
 * *first; lens_sampler_take() frees the place of those that were read.
 */
u32 lens_sampler_peek(struct lens_sampler *s, const struct gpulens_sample **first);
void lens_sampler_take(struct lens_sampler *s, u32 n);
/* Stop and free a sampler that no reader uses any more. */
void lens_sampler_free(struct lens_sampler *s);

#endif /* _LENS_SAMPLER_H_ */
