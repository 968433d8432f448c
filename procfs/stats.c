// SPDX-License-Identifier: GPL-2.0
/*
 * The file stats: numbers of reads and writes of each kind of file, and their accesses. It accesses
 * no GPU, so it works for one that is asleep or removed. Accesses are read under the lock under
 * which they are counted, so that they are consistent.
 */
#include "files.h"

void lens_stats_count_call(struct lens_file *f, int err)
{
	atomic64_inc(&f->calls);
	if (err)
		atomic64_inc(&f->failed);
}

static void stats_show_calls(const struct lens_dev *dev, struct lens_text *t)
{
	u64 calls = 0, failed = 0;
	const struct lens_file *f;
	u32 i;

	for (i = 0; i < dev->n_files; i++) {
		f = &dev->files[i];
		calls += atomic64_read(&f->calls);
		failed += atomic64_read(&f->failed);
		/* Files of a kind are adjacent. */
		if (i + 1 < dev->n_files && dev->files[i + 1].type == f->type)
			continue;
		lens_format_calls(t, lens_file_is_control(f->type), f->type->name, calls, failed);
		calls = 0;
		failed = 0;
	}
}

int lens_show_stats(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_dev *dev = f->dev;
	struct lens_cost cost;
	int err;

	err = mutex_lock_interruptible(&dev->lock);
	if (err)
		return err;
	cost = dev->io.cost;
	mutex_unlock(&dev->lock);
	/* Samplers count without the lock. */
	cost.rd32 += atomic64_read(&dev->samplers.reads);
	stats_show_calls(dev, t);
	lens_format_cost(t, &cost);
	lens_format_ticks(t, atomic64_read(&dev->samplers.ticks),
			  atomic64_read(&dev->samplers.lost));
	return 0;
}
