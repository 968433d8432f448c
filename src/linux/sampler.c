// SPDX-License-Identifier: GPL-2.0
/*
 * Samples the state of engines, in a thread per sampler. Ticks are due at fixed times from the
 * start, so that they do not drift; missed ticks are counted. The thread takes no lock of the
 * GPU: docs/internals.md, "Locks".
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../../include/gpulens/snapshot.h"
#include "../../include/hw/pmc.h"
#include "device.h"

/* Length of a batch of ticks: the device is checked and readers are woken once for each. */
#define SAMPLER_BATCH_NS (10 * NSEC_PER_MSEC)

/* Samplers of one GPU at once: each takes a thread and 1 MiB. */
#define SAMPLER_MAX_PER_GPU 4
/* Samplers of all GPUs: a thread may use four fifths of a processor. */
#define SAMPLER_MAX_PER_CPU 1

/* Markers that may precede the samples of a tick: late, full, asleep. */
#define SAMPLER_MARKERS 3

#define SAMPLER_ROOM_MIN 1024
#define SAMPLER_ROOM_MAX 4194304

static unsigned int sample_room = LENS_SAMPLER_ROOM;
module_param(sample_room, uint, 0644);
MODULE_PARM_DESC(sample_room,
		 "ring capacity of each open /proc/gpuX/samples, in samples of 16 bytes, 1024 to 4194304 (default 65536)");

static_assert(sizeof(struct gpulens_sample) == 16);
static_assert(LENS_ENGINE_UNKNOWN == (int)GPULENS_SAMPLE_ERROR);
static_assert(LENS_ENGINE_SWITCH == (int)GPULENS_SAMPLE_SWITCH);
static_assert(LENS_MAX_ENGINES + SAMPLER_MARKERS < SAMPLER_ROOM_MIN);

/* -- the writing side of the ring -- */

static struct gpulens_sample *sampler_put_sample(struct lens_sampler *s, u32 *head, u64 ns,
						 u32 engine, u32 kind)
{
	struct gpulens_sample *sample = &s->ring[(*head)++ % s->room];

	sample->time_ns = cpu_to_le64(ns);
	sample->engine = engine;
	sample->kind = kind;
	sample->flags = 0;
	sample->reserved = 0;
	return sample;
}

static void sampler_emit_marker(struct lens_sampler *s, u32 *head, struct lens_missed *m, u32 kind)
{
	struct gpulens_sample *sample;

	if (!m->ticks)
		return;
	sample = sampler_put_sample(s, head, m->first_ns, GPULENS_SAMPLE_ALL, kind);
	sample->ticks = cpu_to_le32(m->ticks);
	m->ticks = 0;
}

/* The caller has checked that there is room. */
static void sampler_emit_markers(struct lens_sampler *s)
{
	u32 head = s->head;

	sampler_emit_marker(s, &head, &s->late, GPULENS_SAMPLE_LATE);
	sampler_emit_marker(s, &head, &s->full, GPULENS_SAMPLE_FULL);
	sampler_emit_marker(s, &head, &s->asleep, GPULENS_SAMPLE_ASLEEP);
	/* Publish only complete markers; pairs with lens_sampler_peek(). */
	smp_store_release(&s->head, head);
}

static bool sampler_has_room(const struct lens_sampler *s, u32 n)
{
	/* Samples that were taken may be overwritten; pairs with lens_sampler_take(). */
	return s->room - (s->head - smp_load_acquire(&s->tail)) >= n;
}

/* Count ticks as missed, beginning with the one that is due now. */
static void sampler_count_missed(struct lens_sampler *s, struct lens_missed *m, u64 ticks)
{
	if (ticks && !m->ticks)
		m->first_ns = s->due;
	m->ticks = min_t(u64, m->ticks + ticks, U32_MAX);
	s->due += ticks * s->period_ns;
}

/* Number of ticks that were due after the one that is due now. */
static u64 sampler_count_overdue(const struct lens_sampler *s, u64 now)
{
	return now > s->due ? div64_u64(now - s->due, s->period_ns) : 0;
}

/* -- one tick -- */

static bool sampler_is_error(u32 word)
{
	return word == 0xffffffff || lens_is_bad_read(word);
}

static void sampler_trace_engine(struct lens_sampler *s, u32 engine, u64 ns,
				 const struct lens_engine_status *status)
{
	const struct lens_occupant *shown = lens_engine_get_occupant(status);
	struct lens_trace_occupant *last = &s->sampled[engine].last;
	struct lens_trace_occupant now = { .tsg = LENS_NONE, .channel = LENS_NONE };

	if (status->state == LENS_ENGINE_UNKNOWN)
		now = (struct lens_trace_occupant){ LENS_TRACE_UNKNOWN, LENS_TRACE_UNKNOWN };
	else if (status->state != LENS_ENGINE_IDLE && shown->is_channel)
		now.channel = shown->id;
	else if (status->state != LENS_ENGINE_IDLE)
		now = (struct lens_trace_occupant){ shown->id, shown->channel };
	if (now.tsg == last->tsg && now.channel == last->channel)
		return;
	lens_trace_engine_switch(s->dev, s->engines[engine], ns, last, &now);
	*last = now;
}

static void sampler_read_engine(struct lens_sampler *s, u32 *head, u32 engine)
{
	const struct lens_sampled *from = &s->sampled[engine];
	const struct lens_occupant *shown;
	struct lens_engine_status status;
	struct gpulens_sample *sample;
	u64 ns = ktime_get_ns();
	u32 w[2] = { };

	w[0] = readl(s->dev->bar0 + from->reg[0]);
	if (from->regs > 1)
		w[1] = readl(s->dev->bar0 + from->reg[1]);
	if (w[0] == 0xffffffff)
		s->ones = true;
	if (sampler_is_error(w[1]))
		w[1] = 0;
	s->dev->gpu.chip->host->decode_engine(w, &status);
	if (sampler_is_error(w[0]))
		status.state = LENS_ENGINE_UNKNOWN;
	sampler_trace_engine(s, engine, ns, &status);
	sample = sampler_put_sample(s, head, ns, engine, status.state);
	if (status.state == LENS_ENGINE_UNKNOWN) {
		sample->word = cpu_to_le32(w[0]);
		return;
	}
	shown = lens_engine_get_occupant(&status);
	sample->flags = lens_sample_flags(&status);
	sample->at.id = cpu_to_le16((u16)shown->id);
	sample->at.channel = cpu_to_le16((u16)shown->channel);
}

static void sampler_count_late(struct lens_sampler *s, u64 ticks)
{
	sampler_count_missed(s, &s->late, ticks);
	atomic64_add(ticks, &s->dev->samplers.lost);
}

/* If a tick takes longer than its period, leave the processor for a quarter of that time. */
static void sampler_leave_time(struct lens_sampler *s, u64 began)
{
	u64 now = ktime_get_ns(), from = now + (now - began) / 4;

	if (s->due < from)
		sampler_count_late(s, sampler_count_overdue(s, from - 1) + 1);
}

static void sampler_run_tick(struct lens_sampler *s)
{
	struct lens_samplers *all = &s->dev->samplers;
	u64 began = ktime_get_ns();
	u32 i, reads = 0, head;

	sampler_count_late(s, sampler_count_overdue(s, began));
	if (!sampler_has_room(s, s->n_engines + SAMPLER_MARKERS)) {
		sampler_count_missed(s, &s->full, 1);
		atomic64_inc(&all->lost);
		return;
	}
	sampler_emit_markers(s);
	head = s->head;
	/* A register may take any time; stopping the thread waits for one engine at most. */
	for (i = 0; i < s->n_engines && !kthread_should_stop(); i++) {
		sampler_read_engine(s, &head, i);
		reads += s->sampled[i].regs;
	}
	atomic64_add(reads, &all->reads);
	if (i < s->n_engines)
		return;
	/* Publish only complete ticks; pairs with lens_sampler_peek(). */
	smp_store_release(&s->head, head);
	s->due += s->period_ns;
	atomic64_inc(&all->ticks);
	sampler_leave_time(s, began);
}

/* -- the thread -- */

/* False: not due yet, but the thread must stop. */
static bool sampler_wait_until(u64 ns)
{
	ktime_t when = ns_to_ktime(ns);
	bool due = false;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		due = ktime_get_ns() >= ns;
		if (due || kthread_should_stop())
			break;
		schedule_hrtimeout_range(&when, 0, HRTIMER_MODE_ABS);
	}
	__set_current_state(TASK_RUNNING);
	return due;
}

static void sampler_run_batch(struct lens_sampler *s)
{
	u64 until = ktime_get_ns() + SAMPLER_BATCH_NS;

	if (s->slept)
		sampler_count_missed(s, &s->asleep, sampler_count_overdue(s, ktime_get_ns()));
	s->slept = false;
	do {
		sampler_run_tick(s);
	} while (!kthread_should_stop() && s->due < until && sampler_wait_until(s->due));
}

/* Published at once, so that a waiting reader learns why there are no samples. */
static void sampler_count_asleep(struct lens_sampler *s)
{
	s->slept = true;
	sampler_count_missed(s, &s->asleep, sampler_count_overdue(s, ktime_get_ns()) + 1);
	if (sampler_has_room(s, SAMPLER_MARKERS))
		sampler_emit_markers(s);
}

static void sampler_wake_readers(struct lens_sampler *s)
{
	if (wq_has_sleeper(&s->wait))
		wake_up_interruptible_poll(&s->wait, EPOLLIN | EPOLLRDNORM);
}

static void sampler_mark_ended(struct lens_sampler *s)
{
	/* Publish after the last sample; pairs with lens_sampler_has_ended(). */
	smp_store_release(&s->ended, 1);
	wake_up_poll(&s->wait, EPOLLIN | EPOLLRDNORM | EPOLLHUP);
}

/* After all ones, as in lens_rd32(): was the device removed, or did one register fail? */
static bool sampler_has_lost_gpu(struct lens_sampler *s)
{
	bool ones = s->ones;

	s->ones = false;
	if (ones)
		atomic64_inc(&s->dev->samplers.reads);
	return ones && readl(s->dev->bar0 + NV_PMC_BOOT_0) == 0xffffffff;
}

/* Asked once a batch: BOOT_0 differs if the GPU was reset or replaced. */
static bool sampler_is_same_gpu(struct lens_sampler *s)
{
	atomic64_inc(&s->dev->samplers.reads);
	return lens_chip_is_same(s->dev->gpu.boot0, readl(s->dev->bar0 + NV_PMC_BOOT_0));
}

/* 0: go on. */
static int sampler_use_gpu(struct lens_sampler *s)
{
	int err;

	mutex_lock(&s->access);
	err = lens_dev_acquire(s->dev);
	if (!err) {
		if (sampler_is_same_gpu(s))
			sampler_run_batch(s);
		else
			err = -ENODEV;
		if (sampler_has_lost_gpu(s))
			err = -ENODEV;
		lens_dev_release(s->dev);
	}
	mutex_unlock(&s->access);
	if (err == -ENODATA) {
		sampler_count_asleep(s);
		err = 0;
	}
	return err;
}

/* Not freezable: a GPU that is removed while the machine sleeps waits for the thread. */
static int sampler_run_thread(void *arg)
{
	struct lens_sampler *s = arg;
	u64 pause;

	while (!kthread_should_stop()) {
		/* A GPU that is asleep is checked less often. */
		pause = s->slept && s->period_ns < SAMPLER_BATCH_NS ? SAMPLER_BATCH_NS : 0;
		if (!sampler_wait_until(s->due + pause))
			continue;
		if (sampler_use_gpu(s))
			break;
		sampler_wake_readers(s);
	}
	sampler_mark_ended(s);
	return 0;
}

/* -- start and stop -- */

struct lens_sampler *lens_sampler_alloc(struct lens_dev *dev)
{
	struct lens_sampler *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return NULL;
	init_waitqueue_head(&s->wait);
	INIT_LIST_HEAD(&s->link);
	mutex_init(&s->access);
	s->dev = dev;
	return s;
}

static bool sampler_wants_engine(const struct lens_engine *e, const u32 *runlists, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (e->runlist == (int)runlists[i])
			return true;
	return !n;
}

static void sampler_choose_engines(struct lens_sampler *s, const u32 *runlists, u32 n)
{
	const struct lens_gpu *gpu = &s->dev->gpu;
	struct lens_sampled *to;
	u32 i;

	s->n_engines = 0;
	for (i = 0; i < gpu->topo.n_engines; i++) {
		if (!sampler_wants_engine(&gpu->topo.engines[i], runlists, n))
			continue;
		to = &s->sampled[s->n_engines];
		to->last = (struct lens_trace_occupant){ LENS_TRACE_UNKNOWN, LENS_TRACE_UNKNOWN };
		to->regs = lens_engine_get_regs(gpu, &gpu->topo.engines[i], to->reg);
		/* A device table may have an address beyond BAR0. */
		if (to->regs && max(to->reg[0], to->reg[to->regs - 1]) > s->dev->bar0_len - 4)
			continue;
		if (to->regs)
			s->engines[s->n_engines++] = i;
	}
}

/* Number of threads, of all GPUs. */
static atomic_t sampler_threads;

static int sampler_start_thread(struct lens_sampler *s)
{
	int limit = max_t(int, SAMPLER_MAX_PER_GPU, SAMPLER_MAX_PER_CPU * num_online_cpus());
	struct task_struct *task;

	if (atomic_inc_return(&sampler_threads) > limit) {
		atomic_dec(&sampler_threads);
		return -EBUSY;
	}
	task = kthread_create(sampler_run_thread, s, "gpulens/%d", s->dev->index);
	if (IS_ERR(task)) {
		atomic_dec(&sampler_threads);
		return PTR_ERR(task);
	}
	/* The thread may end by itself before kthread_stop(). */
	get_task_struct(task);
	set_user_nice(task, MIN_NICE);
	s->task = task;
	s->start_ns = ktime_get_ns();
	s->due = s->start_ns;
	wake_up_process(task);
	return 0;
}

int lens_sampler_start(struct lens_sampler *s, u32 period_us, const u32 *runlists, u32 n_runlists)
{
	struct lens_samplers *all = &s->dev->samplers;
	int err = 0;

	sampler_choose_engines(s, runlists, n_runlists);
	if (!s->n_engines)
		return -EOPNOTSUPP;
	/* A sample names its engine in a byte. */
	if (s->n_engines >= GPULENS_SAMPLE_ALL)
		return -E2BIG;
	s->period_ns = period_us * (u64)NSEC_PER_USEC;
	if (!s->ring)
		s->room = roundup_pow_of_two(clamp_t(u32, READ_ONCE(sample_room), SAMPLER_ROOM_MIN,
						     SAMPLER_ROOM_MAX));
	mutex_lock(&all->lock);
	if (all->closed || all->n >= SAMPLER_MAX_PER_GPU)
		err = all->closed ? -ENODEV : -EBUSY;
	else if (!s->ring)
		s->ring = kvmalloc_array(s->room, sizeof(*s->ring), GFP_KERNEL_ACCOUNT);
	if (!err && !s->ring)
		err = -ENOMEM;
	if (!err)
		err = sampler_start_thread(s);
	if (!err) {
		list_add(&s->link, &all->list);
		all->n++;
	}
	mutex_unlock(&all->lock);
	return err;
}

static void sampler_stop_thread(struct lens_sampler *s)
{
	lockdep_assert_held(&s->dev->samplers.lock);
	if (!s->task)
		return;
	kthread_stop(s->task);
	put_task_struct(s->task);
	s->task = NULL;
	atomic_dec(&sampler_threads);
	/* A thread that was stopped before it ran has not done this. */
	sampler_mark_ended(s);
}

void lens_samplers_init(struct lens_dev *dev)
{
	mutex_init(&dev->samplers.lock);
	INIT_LIST_HEAD(&dev->samplers.list);
}

void lens_samplers_stop(struct lens_dev *dev)
{
	struct lens_sampler *s;

	mutex_lock(&dev->samplers.lock);
	dev->samplers.closed = true;
	list_for_each_entry(s, &dev->samplers.list, link)
		sampler_stop_thread(s);
	mutex_unlock(&dev->samplers.lock);
}

void lens_samplers_drain(struct lens_dev *dev)
{
	struct lens_sampler *s;

	mutex_lock(&dev->samplers.lock);
	list_for_each_entry(s, &dev->samplers.list, link) {
		mutex_lock(&s->access);
		mutex_unlock(&s->access);
	}
	mutex_unlock(&dev->samplers.lock);
}

/*
 * procfs releases a removed file that is still open and polled. poll() and select() leave the wait
 * queue when woken; epoll does so only when notified (POLLFREE).
 */
static void sampler_expel_pollers(struct lens_sampler *s)
{
	/* No poller is added any more, so no barrier is needed. */
	while (waitqueue_active(&s->wait)) {
		__wake_up(&s->wait, TASK_NORMAL, 0, poll_to_key(EPOLLHUP | POLLFREE));
		msleep(20);
	}
}

void lens_sampler_free(struct lens_sampler *s)
{
	struct lens_samplers *all = &s->dev->samplers;

	mutex_lock(&all->lock);
	sampler_stop_thread(s);
	if (!list_empty(&s->link)) {
		list_del(&s->link);
		all->n--;
	}
	mutex_unlock(&all->lock);
	sampler_expel_pollers(s);
	kvfree(s->ring);
	kfree_rcu(s, rcu);
}

/* -- reading -- */

bool lens_sampler_has_ended(const struct lens_sampler *s)
{
	/* Pairs with sampler_mark_ended(). */
	return smp_load_acquire(&s->ended);
}

bool lens_sampler_is_ready(const struct lens_sampler *s)
{
	return lens_sampler_has_ended(s) || READ_ONCE(s->head) != READ_ONCE(s->tail);
}

u32 lens_sampler_peek(struct lens_sampler *s, const struct gpulens_sample **first)
{
	bool ended = lens_sampler_has_ended(s);
	u32 at, n;

	/* Samples are read after it; pairs with sampler_run_tick(). */
	n = smp_load_acquire(&s->head) - s->tail;
	if (!n && ended && s->ring) {
		/* The thread has ended: emit markers that had found no room. */
		sampler_emit_markers(s);
		n = s->head - s->tail;
	}
	if (!n)
		return 0;
	at = s->tail % s->room;
	*first = &s->ring[at];
	return min(n, s->room - at);
}

void lens_sampler_take(struct lens_sampler *s, u32 n)
{
	/* Samples were read before it; pairs with sampler_has_room(). */
	smp_store_release(&s->tail, s->tail + n);
}
