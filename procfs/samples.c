// SPDX-License-Identifier: GPL-2.0
/*
 * The file samples: which TSG is on each engine over time, in the format of uapi/gpulens.h. A write
 * configures the file's own sampler (src/linux/sampler.c), the first read or poll starts it, close
 * stops it. read() before the write fails, so that reading all files terminates.
 */
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../include/gpulens/snapshot.h"
#include "../src/linux/compat/compat.h"
#include "../src/linux/sampler.h"
#include "files.h"
#include "parse.h"

static_assert(sizeof(struct gpulens_samples_header) == GPULENS_RECORD_BYTES);

struct samples_stream {
	struct mutex lock;	/* serialises readers and writers; not held while waiting */
	struct lens_sampling sampling;	/* period_us 0: not configured */
	struct lens_sampler *sampler;
	bool begun;
	u8 *head;		/* header and engine records */
	size_t head_len, head_read;	/* bytes of head; bytes of it that were read */
};

static int samples_open(struct inode *inode, struct file *file)
{
	struct lens_file *f = pde_data(inode);
	struct samples_stream *st;

	if (!lens_may_observe(file))
		return -EPERM;
	st = kzalloc(sizeof(*st), GFP_KERNEL_ACCOUNT);
	if (!st)
		return -ENOMEM;
	st->sampler = lens_sampler_alloc(f->dev);
	if (!st->sampler) {
		kfree(st);
		return -ENOMEM;
	}
	mutex_init(&st->lock);
	file->private_data = st;
	return stream_open(inode, file);
}

static int samples_release(struct inode *inode, struct file *file)
{
	struct samples_stream *st = file->private_data;

	lens_sampler_free(st->sampler);
	kvfree(st->head);
	kfree(st);
	return 0;
}

/* -- configuration -- */

static int samples_configure(struct lens_file *f, struct samples_stream *st, const char *text,
			     size_t len)
{
	struct lens_sampling sampling;
	u32 i;
	int err;

	err = lens_parse_sampling(text, len, &sampling);
	if (err)
		return err;
	for (i = 0; i < sampling.n; i++)
		if (!lens_gpu_find_runlist(&f->dev->gpu, sampling.runlists[i]))
			return -ENOENT;
	err = mutex_lock_interruptible(&st->lock);
	if (err)
		return err;
	if (st->begun)
		err = -EBUSY;
	else
		st->sampling = sampling;
	mutex_unlock(&st->lock);
	return err;
}

static ssize_t samples_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	char *text;
	int err;

	if (!lens_may_observe(file))
		return -EPERM;
	if (!count || count > LENS_SAMPLING_MAX + 1)
		return -EINVAL;
	text = memdup_user(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = samples_configure(pde_data(file_inode(file)), file->private_data, text, count);
	kfree(text);
	return err ? err : count;
}

/* -- reading -- */

static int samples_lay_out_head(const struct lens_dev *dev, struct samples_stream *st)
{
	const struct lens_sampler *s = st->sampler;
	struct gpulens_samples_header *h;
	struct gpulens_engine *rec;
	u32 i;

	h = kvcalloc(s->n_engines + 1, GPULENS_RECORD_BYTES, GFP_KERNEL_ACCOUNT);
	if (!h)
		return -ENOMEM;
	h->magic = cpu_to_le32(GPULENS_SAMPLES_MAGIC);
	h->version = cpu_to_le16(GPULENS_SAMPLES_VERSION);
	h->sample_bytes = cpu_to_le16(sizeof(struct gpulens_sample));
	h->engines = cpu_to_le32(s->n_engines);
	h->gpu = cpu_to_le32(dev->index);
	h->time_ns = cpu_to_le64(s->start_ns);
	h->period_us = cpu_to_le32(st->sampling.period_us);
	h->room = cpu_to_le32(s->room);
	rec = (struct gpulens_engine *)(h + 1);
	for (i = 0; i < s->n_engines; i++)
		lens_snapshot_put_engine(&dev->gpu, &dev->gpu.topo.engines[s->engines[i]], &rec[i]);
	st->head = (u8 *)h;
	WRITE_ONCE(st->head_len, (s->n_engines + 1) * GPULENS_RECORD_BYTES);
	return 0;
}

static int samples_begin_stream(struct lens_file *f, struct samples_stream *st)
{
	int err = 0;

	lockdep_assert_held(&st->lock);
	if (!st->begun) {
		err = !st->sampling.period_us ? -EINVAL :
		      lens_sampler_start(st->sampler, st->sampling.period_us, st->sampling.runlists,
					 st->sampling.n);
		lens_stats_count_call(f, err);
		st->begun = !err;
	}
	if (!err && !st->head)
		err = samples_lay_out_head(f->dev, st);
	return err;
}

/* Copies whole records or samples, as many as fit; 0: there are none yet. */
static ssize_t samples_take_records(struct samples_stream *st, char __user *buf, size_t count)
{
	size_t size = GPULENS_RECORD_BYTES, n = st->head_len - st->head_read;
	const struct gpulens_sample *first = NULL;
	const void *from = st->head + st->head_read;

	lockdep_assert_held(&st->lock);
	if (!n) {
		size = sizeof(*first);
		n = lens_sampler_peek(st->sampler, &first) * size;
		from = first;
	}
	if (count < size)
		return -EINVAL;
	n = min(n, count - count % size);
	if (copy_to_user(buf, from, n))
		return -EFAULT;
	if (first)
		lens_sampler_take(st->sampler, n / size);
	else
		WRITE_ONCE(st->head_read, st->head_read + n);
	return n;
}

static bool samples_are_ready(const struct samples_stream *st)
{
	return READ_ONCE(st->head_read) < READ_ONCE(st->head_len) ||
	       lens_sampler_is_ready(st->sampler);
}

/* Waits until woken, unless there is something to read. */
static int samples_wait_once(struct samples_stream *st)
{
	int err = 0;
	DEFINE_WAIT(entry);

	prepare_to_wait(&st->sampler->wait, &entry, TASK_INTERRUPTIBLE);
	if (signal_pending(current))
		err = -ERESTARTSYS;
	else if (!samples_are_ready(st))
		schedule();
	finish_wait(&st->sampler->wait, &entry);
	return err;
}

static ssize_t samples_wait_and_take(struct file *file, char __user *buf, size_t count)
{
	struct lens_file *f = pde_data(file_inode(file));
	struct samples_stream *st = file->private_data;
	bool ended;
	ssize_t ret;

	if (!lens_may_observe(file)) {
		lens_stats_count_call(f, -EPERM);
		return -EPERM;
	}
	for (;;) {
		ret = mutex_lock_interruptible(&st->lock);
		if (ret)
			return ret;
		ret = samples_begin_stream(f, st);
		/* Before taking: then all samples before the end are taken first. */
		ended = lens_sampler_has_ended(st->sampler);
		if (!ret)
			ret = samples_take_records(st, buf, count);
		mutex_unlock(&st->lock);
		if (ret)
			return ret;
		if (ended)
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		ret = samples_wait_once(st);
		if (ret)
			return ret;
	}
}

static ssize_t samples_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file *f = pde_data(file_inode(file));
	ssize_t ret;

	lens_file_enter(f);
	ret = samples_wait_and_take(file, buf, count);
	lens_file_leave(f);
	return ret;
}

static __poll_t samples_poll(struct file *file, poll_table *wait)
{
	struct samples_stream *st = file->private_data;
	__poll_t mask = 0;
	int err = -EPERM;

	if (lens_may_observe(file)) {
		mutex_lock(&st->lock);
		err = samples_begin_stream(pde_data(file_inode(file)), st);
		mutex_unlock(&st->lock);
	}
	if (err)
		return EPOLLERR;
	poll_wait(file, &st->sampler->wait, wait);
	if (samples_are_ready(st))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (lens_sampler_has_ended(st->sampler))
		mask |= EPOLLHUP;
	return mask;
}

const struct proc_ops lens_samples_ops = {
	.proc_open = samples_open,
	.proc_read = samples_read,
	.proc_write = samples_write,
	.proc_poll = samples_poll,
	.proc_lseek = noop_llseek,
	.proc_release = samples_release,
};
