// SPDX-License-Identifier: GPL-2.0
/*
 * The directory /proc/gpuX: which files there are, and reading them.
 *
 * A file is collected and formatted once, at its first read, and served from
 * that text; seeking back to 0 collects afresh. Each open file has its own text,
 * so that two readers never share state.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "../include/gpulens/bar.h"
#include "../src/linux/compat/compat.h"
#include "files.h"
#include "parse.h"

/* -- what the files say -- */

static int show_chip(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_readable readable, *r = NULL;
	int err;

	/* Whether runlists can be read takes a look into GPU memory. */
	if (observe && lens_gpu_has_host(&f->dev->gpu)) {
		err = lens_dev_get(f->dev);
		if (!err)
			err = lens_dev_put(f->dev, lens_check_readable(&f->dev->gpu, &readable));
		if (err && err != -ENODATA)
			return err;
		r = err ? NULL : &readable;
	}
	lens_format_chip(t, &f->dev->gpu, f->dev->where, r);
	return 0;
}

static int show_device_info(const struct lens_file *f, bool observe, struct lens_text *t)
{
	lens_format_device_info(t, &f->dev->gpu);
	return 0;
}

/* What serves which copy engine is the driver's to change: never kept. */
static int files_read_ce_map(const struct lens_file *f, struct lens_ce_map *map)
{
	int err = lens_dev_get(f->dev);

	if (err)
		return err;
	return lens_dev_put(f->dev, lens_ce_map_read(&f->dev->gpu, map));
}

static int show_copy_topology(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_ce_map map;
	int err = files_read_ce_map(f, &map);

	if (!err)
		lens_format_copy_topology(t, &f->dev->gpu, &map);
	return err;
}

static int show_tpc_map(const struct lens_file *f, bool observe, struct lens_text *t)
{
	if (f->dev->gpu.topo.gpcs_err)
		return f->dev->gpu.topo.gpcs_err;
	lens_format_tpc_map(t, &f->dev->gpu);
	return 0;
}

static int show_hex(struct lens_text *t, u32 v)
{
	lens_text_add(t, "%#x\n", v);
	return 0;
}

/* A count of none that comes with an error was never read. */
static int show_count(struct lens_text *t, u32 n, int err)
{
	return n || !err ? show_hex(t, n) : err;
}

static int show_num_gpcs(const struct lens_file *f, bool observe, struct lens_text *t)
{
	return show_count(t, f->dev->gpu.topo.num_gpcs, f->dev->gpu.topo.gpcs_err);
}

static int show_num_tpc_per_gpc(const struct lens_file *f, bool observe, struct lens_text *t)
{
	return show_count(t, f->dev->gpu.topo.num_tpc_per_gpc, f->dev->gpu.topo.gpcs_err);
}

static int show_num_ces(const struct lens_file *f, bool observe, struct lens_text *t)
{
	return show_count(t, f->dev->gpu.topo.num_ces, f->dev->gpu.topo.ce_err);
}

static int show_gpc_mask(const struct lens_file *f, bool observe, struct lens_text *t)
{
	if (f->dev->gpu.topo.gpcs_err)
		return f->dev->gpu.topo.gpcs_err;
	return show_hex(t, f->dev->gpu.topo.gpc_mask);
}

static int show_tpc_mask(const struct lens_file *f, bool observe, struct lens_text *t)
{
	return show_hex(t, f->dev->gpu.topo.tpc_mask[f->arg]);
}

static int show_pce_map(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_ce_map map;
	int err = files_read_ce_map(f, &map);

	return err ? err : show_hex(t, map.pce_map);
}

static int show_lce_for_pce(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_ce_map map;
	int err = files_read_ce_map(f, &map);

	return err ? err : show_hex(t, map.lce_for_pce[f->arg]);
}

static int show_shared_lce(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_ce_map map;
	int err = files_read_ce_map(f, &map);

	return err ? err : show_hex(t, map.shared_lce[f->arg]);
}

static int show_local_memory(const struct lens_file *f, bool observe, struct lens_text *t)
{
	u64 bytes = 0;
	int err = lens_dev_get(f->dev);

	if (err)
		return err;
	err = lens_dev_put(f->dev, lens_gpu_read_memory_size(&f->dev->gpu, &bytes));
	if (!err)
		lens_text_add(t, "%llu\n", bytes);
	return err;
}

static int show_runlist(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_runlist_snap snap = { .rl = lens_gpu_find_runlist(&f->dev->gpu, f->arg) };
	int err = lens_snap_collect(f->dev, &snap, true);

	if (lens_entries_are_unreadable(&snap, err))
		err = 0;
	if (!err)
		lens_format_runlist(t, &f->dev->gpu, &snap, observe);
	lens_snap_free(&snap);
	return err;
}

static int show_bars(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_mmu_scan *room = kvmalloc(sizeof(*room), GFP_KERNEL_ACCOUNT);
	struct lens_bars *bars = kvmalloc(sizeof(*bars), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (room && bars)
		err = lens_dev_get(f->dev);
	if (!err) {
		err = lens_bars_collect(&f->dev->gpu, bars, room, LENS_BARS_WORDS);
		err = lens_dev_put(f->dev, err);
	}
	if (!err)
		lens_format_bars(t, bars, observe);
	kvfree(bars);
	kvfree(room);
	return err;
}

/* -- collecting runlists -- */

static int snap_make_room(const struct lens_gpu *gpu, struct lens_runlist_snap *snap, bool contexts)
{
	u32 cap = snap->regs.length, words = gpu->chip->entry_words;

	lens_snap_free(snap);
	if (!cap)
		return 0;
	/* kvmalloc: 8-byte alignment of entries is what copy() wants. */
	snap->entries = kvmalloc_array(cap, words * sizeof(u32), GFP_KERNEL_ACCOUNT);
	snap->state = kvmalloc_array(cap, 2 * sizeof(u32), GFP_KERNEL_ACCOUNT);
	snap->err = kvmalloc_array(cap, sizeof(*snap->err), GFP_KERNEL_ACCOUNT);
	if (contexts) {
		snap->context = kvmalloc_array(cap, sizeof(*snap->context), GFP_KERNEL_ACCOUNT);
		snap->cache = kvzalloc(sizeof(*snap->cache), GFP_KERNEL_ACCOUNT);
	}
	if (!snap->entries || !snap->state || !snap->err ||
	    (contexts && (!snap->context || !snap->cache)))
		return -ENOMEM;
	snap->cap = cap;
	return 0;
}

int lens_snap_fill(struct lens_gpu *gpu, struct lens_runlist_snap *snap, bool contexts)
{
	int err, tries = 4;

	err = lens_runlist_begin(gpu, snap);
	if (err)
		return err;
	do {
		err = snap_make_room(gpu, snap, contexts);
		if (!err)
			err = lens_runlist_collect(gpu, snap);
	} while (err == -EAGAIN && --tries);
	if (!err && contexts && snap->n)
		err = lens_contexts_collect(gpu, snap);
	return err;
}

int lens_snap_collect(struct lens_dev *dev, struct lens_runlist_snap *snap, bool contexts)
{
	int err = lens_dev_get(dev);

	if (err)
		return err;
	return lens_dev_put(dev, lens_snap_fill(&dev->gpu, snap, contexts));
}

void lens_snap_free(struct lens_runlist_snap *snap)
{
	kvfree(snap->entries);
	kvfree(snap->state);
	kvfree(snap->err);
	kvfree(snap->context);
	kvfree(snap->cache);
	snap->entries = NULL;
	snap->state = NULL;
	snap->err = NULL;
	snap->context = NULL;
	snap->cache = NULL;
	snap->cap = 0;
}

/* -- reading -- */

/* An open file: its text, once it was read. */
struct files_reader {
	struct mutex lock;	/* pread() comes without the VFS's lock of the position */
	bool collected, observe;	/* observe: the text is for those who may */
	struct lens_text text;
};

static int files_open(struct inode *inode, struct file *file)
{
	const struct lens_file *f = pde_data(inode);
	struct files_reader *r;
	bool observe;
	int err;

	err = lens_check_reader(f->type->access, file, &observe);
	if (err)
		return err;
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return -ENOMEM;
	mutex_init(&r->lock);
	file->private_data = r;
	return 0;
}

static int files_release(struct inode *inode, struct file *file)
{
	struct files_reader *r = file->private_data;

	lens_text_free(&r->text);
	kfree(r);
	return 0;
}

void lens_note_call(struct lens_file *f, int err)
{
	atomic64_inc(&f->calls);
	if (err)
		atomic64_inc(&f->failed);
}

/*
 * unsafe_world_readable=1: a reader without a privilege waits for as much as such a read took
 * last time; once more if that was not enough.
 */
static int files_show_budgeted(const struct lens_file *f, struct lens_text *t)
{
	int tries, err;

	err = lens_stop_budget_begin();
	if (err)
		return err;
	for (tries = 0, err = -EBUSY; err == -EBUSY && tries < 2; tries++) {
		err = lens_stop_budget_wait(READ_ONCE(f->dev->budgeted_ns));
		if (!err)
			err = f->type->show(f, false, t);
	}
	lens_stop_budget_end();
	return err;
}

static int files_collect(const struct lens_file *f, bool observe, struct lens_text *t)
{
	int err;

	/* Kept files, too: only of the GPU that was attached, unless it is asleep. */
	if (f->type->kept) {
		err = lens_dev_get(f->dev);
		if (!err)
			err = lens_dev_put(f->dev, 0);
		if (err && err != -ENODATA)
			return err;
	}
	if (f->type->access == LENS_ACCESS_SCHEDULING && !observe)
		err = files_show_budgeted(f, t);
	else
		err = f->type->show(f, observe, t);
	return err ? err : t->err;
}

/*
 * Check permission at every read(): the descriptor may have been passed to, or inherited
 * by, a less privileged process.
 */
static ssize_t files_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file *f = pde_data(file_inode(file));
	struct files_reader *r = file->private_data;
	struct lens_text fresh = { };
	bool observe;
	ssize_t ret;

	ret = mutex_lock_interruptible(&r->lock);
	if (ret)
		return ret;
	ret = lens_check_reader(f->type->access, file, &observe);
	if (ret || *pos == 0 || !r->collected || (r->observe && !observe)) {
		if (!ret)
			ret = files_collect(f, observe, &fresh);
		lens_note_call(f, ret);
		if (ret) {
			lens_text_free(&fresh);
			goto out;
		}
		lens_text_free(&r->text);
		r->text = fresh;
		r->collected = true;
		r->observe = observe;
	}
	ret = simple_read_from_buffer(buf, count, pos, r->text.buf, r->text.len);
out:
	mutex_unlock(&r->lock);
	return ret;
}

static const struct proc_ops files_read_ops = {
	.proc_open = files_open,
	.proc_read = files_read,
	.proc_lseek = default_llseek,
	.proc_release = files_release,
};

/* -- writing -- */

static int files_parse(const struct lens_file_type *type, const char *text, size_t len,
		       struct lens_ref *ref, u32 *value)
{
	return type->act ? lens_parse_ref(text, len, ref) :
			   lens_parse_ref_value(text, len, ref, value);
}

static int files_act(struct lens_file *f, const struct lens_ref *ref, u32 value, int *runlist)
{
	struct lens_gpu *gpu = &f->dev->gpu;

	if (!lens_gpu_has_host(gpu))
		return -EOPNOTSUPP;
	return f->type->act ? f->type->act(gpu, ref, runlist) :
			      f->type->act_with(gpu, ref, value, runlist);
}

static ssize_t files_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file *f = pde_data(file_inode(file));
	struct lens_ref ref = { .runlist = LENS_NONE };
	int err, runlist = LENS_NONE;
	char text[LENS_ID_MAX + 2];
	bool parsed = false;
	u32 value = 0;

	err = lens_may_control(file);
	if (err)
		goto out;
	err = -EINVAL;
	if (!count || count > sizeof(text))
		goto out;
	err = -EFAULT;
	if (copy_from_user(text, buf, count))
		goto out;
	err = files_parse(f->type, text, count, &ref, &value);
	if (err)
		goto out;
	parsed = true;
	runlist = ref.runlist;
	err = lens_dev_control_begin(f->dev);
	if (err)
		goto out;
	err = files_act(f, &ref, value, &runlist);
	if (err == -EINVAL && ref.runlist == LENS_NONE && f->dev->gpu.chip->ids_per_runlist)
		lens_report_holders(f, ref.id);
	err = lens_dev_control_end(f->dev, err);
out:
	lens_trace_control(f->dev, f->type->name, runlist, parsed ? (s64)ref.id : -1, err);
	lens_note_call(f, err);
	return err ? err : count;
}

static const struct proc_ops files_write_ops = {
	.proc_write = files_write,
	.proc_lseek = noop_llseek,
};

/* -- the directory -- */

static const struct lens_file_type files_single[] = {
	{ .name = "chip", .kept = true, .show = show_chip },
	{ .name = "device_info", .kept = true, .show = show_device_info },
	{ .name = "num_gpcs", .kept = true, .show = show_num_gpcs },
	{ .name = "num_tpc_per_gpc", .kept = true, .show = show_num_tpc_per_gpc },
	{ .name = "num_ces", .kept = true, .show = show_num_ces },
	{ .name = "gpc_mask", .kept = true, .show = show_gpc_mask },
	{ .name = "tpc_map", .kept = true, .show = show_tpc_map },
	{ .name = "pce_map", .show = show_pce_map },
	{ .name = "copy_topology", .show = show_copy_topology },
	{ .name = "local_memory", .show = show_local_memory },
	{ .name = "bars", .access = LENS_ACCESS_SCHEDULING, .show = show_bars },
	{ .name = "snapshot", .access = LENS_ACCESS_SCHEDULING, .show = lens_show_snapshot },
	{ .name = "topology", .show = lens_show_topology },
	{ .name = "image", .access = LENS_ACCESS_RAW, .show = lens_show_image },
	{ .name = "stats", .show = lens_show_stats },
	{ .name = "samples", .access = LENS_ACCESS_SAMPLES, .ops = &lens_samples_ops },
};

static const struct lens_file_type files_runlist = {
	.name = "runlist%u", .access = LENS_ACCESS_SCHEDULING, .show = show_runlist,
};

static const struct lens_file_type files_tpc_mask = {
	.name = "gpc%u_tpc_mask", .kept = true, .show = show_tpc_mask,
};

static const struct lens_file_type files_lce_for_pce = {
	.name = "lce_for_pce%u", .show = show_lce_for_pce,
};

static const struct lens_file_type files_shared_lce = {
	.name = "shared_lce_for_grce%u", .show = show_shared_lce,
};

static int files_add(struct lens_dev *dev, const struct lens_file_type *type, u32 arg)
{
	umode_t mode = lens_file_mode(type->access);
	const struct proc_ops *ops = type->ops ? type->ops :
				     lens_file_is_control(type) ? &files_write_ops : &files_read_ops;
	struct proc_dir_entry *entry;
	struct lens_file *f;
	char name[32];

	if (dev->n_files == dev->max_files)
		return -ENOSPC;
	f = &dev->files[dev->n_files];
	f->dev = dev;
	f->type = type;
	f->arg = arg;
	snprintf(name, sizeof(name), type->name, arg);
	entry = proc_create_data(name, mode, dev->dir, ops, f);
	if (!entry)
		return -ENOMEM;
	lens_set_file_group(entry, mode);
	dev->n_files++;
	return 0;
}

static int files_add_all(struct lens_dev *dev)
{
	const struct lens_topology *topo = &dev->gpu.topo;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < ARRAY_SIZE(files_single); i++)
		err = files_add(dev, &files_single[i], 0);
	for (i = 0; !err && i < topo->n_runlists; i++)
		err = files_add(dev, &files_runlist, topo->runlists[i].id);
	for (i = 0; !err && !topo->gpcs_err && i < topo->num_gpcs; i++)
		if (!(topo->gpc_mask & (1U << i)))
			err = files_add(dev, &files_tpc_mask, i);
	/* By what does not change; whether it can be read is asked at each read. */
	for (i = 0; !err && i < LENS_MAX_PCES; i++)
		if (topo->ce.pce_map & (1U << i) && i < dev->gpu.chip->ce.pces)
			err = files_add(dev, &files_lce_for_pce, i);
	for (i = 0; !err && i < topo->ce.n_grces; i++)
		err = files_add(dev, &files_shared_lce, i);
	for (i = 0; !err && i < lens_control_file_count; i++)
		err = files_add(dev, &lens_control_files[i], 0);
	return err;
}

/*
 * procfs warns loudly about a name that is taken; ask first. In a worker and with the
 * machine's root: the process that loads the module may be in a chroot without /proc.
 */
static long files_find_name(void *name)
{
	char full[32];
	struct path path;
	int err;

	snprintf(full, sizeof(full), "/proc/%s", (const char *)name);
	scoped_with_init_fs()
		err = kern_path(full, 0, &path);
	if (err)
		return 0;
	path_put(&path);
	return 1;
}

int lens_proc_add(struct lens_dev *dev)
{
	char name[16];
	int err;

	snprintf(name, sizeof(name), "gpu%d", dev->index);
	if (work_on_cpu(raw_smp_processor_id(), files_find_name, name)) {
		/* not EEXIST, which to insmod means that this module is loaded already */
		pr_err("/proc/%s exists; is another module of this kind loaded?\n", name);
		return -EBUSY;
	}
	dev->max_files = ARRAY_SIZE(files_single) + dev->gpu.topo.n_runlists + LENS_MAX_GPCS +
			 LENS_MAX_PCES + LENS_MAX_GRCES + lens_control_file_count;
	dev->files = kvcalloc(dev->max_files, sizeof(*dev->files), GFP_KERNEL);
	if (!dev->files)
		return -ENOMEM;
	dev->dir = proc_mkdir(name, NULL);
	err = dev->dir ? files_add_all(dev) : -EBUSY;
	if (err)
		lens_proc_remove(dev);
	return err;
}

void lens_proc_remove(struct lens_dev *dev)
{
	/* Waits until nobody is inside a file, then no one gets in again. */
	if (dev->dir)
		proc_remove(dev->dir);
	dev->dir = NULL;
	kvfree(dev->files);
	dev->files = NULL;
	dev->n_files = 0;
}
