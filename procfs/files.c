// SPDX-License-Identifier: GPL-2.0
/*
 * The directory /proc/gpuX: which files there are, and reading them.
 *
 * A file is collected and formatted once, at its first read, and served from
 * that text; seeking back to 0 collects afresh. Each open file has its own text,
 * so that two readers never share state.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../include/gpulens/bar.h"
#include "../src/linux/compat/compat.h"
#include "files.h"
#include "parse.h"

/* -- what the files say -- */

static int show_chip(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	struct lens_readable r;
	int err;

	if (!lens_gpu_has_host(&f->dev->gpu)) {
		lens_format_chip(t, &f->dev->gpu, f->dev->where, NULL);
		return 0;
	}
	err = lens_dev_get(f->dev);
	if (err)
		return err;
	err = lens_dev_put(f->dev, lens_runlists_readable(&f->dev->gpu, &r));
	if (err)
		return err;
	lens_format_chip(t, &f->dev->gpu, f->dev->where, &r);
	return 0;
}

static int show_device_info(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	lens_format_device_info(t, &f->dev->gpu);
	return 0;
}

static int show_copy_topology(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	if (f->dev->gpu.topo.ce_err)
		return f->dev->gpu.topo.ce_err;
	lens_format_copy_topology(t, &f->dev->gpu);
	return 0;
}

static int show_tpc_map(const struct lens_file *f, bool addresses, struct lens_text *t)
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

static int show_num_gpcs(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	return show_count(t, f->dev->gpu.topo.num_gpcs, f->dev->gpu.topo.gpcs_err);
}

static int show_num_tpc_per_gpc(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	return show_count(t, f->dev->gpu.topo.num_tpc_per_gpc, f->dev->gpu.topo.gpcs_err);
}

static int show_num_ces(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	return show_count(t, f->dev->gpu.topo.num_ces, f->dev->gpu.topo.ce_err);
}

static int show_gpc_mask(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	if (f->dev->gpu.topo.gpcs_err)
		return f->dev->gpu.topo.gpcs_err;
	return show_hex(t, f->dev->gpu.topo.gpc_mask);
}

static int show_tpc_mask(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	return show_hex(t, f->dev->gpu.topo.tpc_mask[f->arg]);
}

static int show_pce_map(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	if (f->dev->gpu.topo.ce_err)
		return f->dev->gpu.topo.ce_err;
	return show_hex(t, f->dev->gpu.topo.pce_map);
}

static int show_lce_for_pce(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	return show_hex(t, f->dev->gpu.topo.lce_for_pce[f->arg]);
}

static int show_shared_lce(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	return show_hex(t, f->dev->gpu.topo.shared_lce[f->arg]);
}

static int show_local_memory(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	if (!f->dev->gpu.topo.memory_bytes)
		return -EOPNOTSUPP;
	lens_text_add(t, "%llu\n", f->dev->gpu.topo.memory_bytes);
	return 0;
}

static int show_runlist(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	struct lens_runlist_snap snap = { .rl = lens_gpu_runlist(&f->dev->gpu, f->arg) };
	int err = lens_snap_collect(f->dev, &snap, true);

	if (!err)
		lens_format_runlist(t, &f->dev->gpu, &snap, addresses);
	lens_snap_free(&snap);
	return err;
}

/* Table words that are looked at per BAR: 512 KiB of tables map 256 MiB in 4 KiB pages. */
#define BAR_WORDS 65536

static int show_bars(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	struct lens_mmu_scan *room = kvmalloc(sizeof(*room), GFP_KERNEL);
	struct lens_bars *bars = kvmalloc(sizeof(*bars), GFP_KERNEL);
	int err = -ENOMEM;

	if (room && bars)
		err = lens_dev_get(f->dev);
	if (!err) {
		err = lens_bars_collect(&f->dev->gpu, bars, room, BAR_WORDS);
		err = lens_dev_put(f->dev, err);
	}
	if (!err)
		lens_format_bars(t, bars, addresses);
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
	snap->entries = kvmalloc_array(cap, words * sizeof(u32), GFP_KERNEL);
	snap->state = kvmalloc_array(cap, 2 * sizeof(u32), GFP_KERNEL);
	snap->err = kvmalloc_array(cap, sizeof(*snap->err), GFP_KERNEL);
	if (contexts) {
		snap->context = kvmalloc_array(cap, sizeof(*snap->context), GFP_KERNEL);
		snap->cache = kvzalloc(sizeof(*snap->cache), GFP_KERNEL);
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

/* An open file: what it says, once it was read. */
struct reader {
	struct mutex lock;	/* pread() comes without the VFS's lock of the position */
	bool collected, addresses;	/* addresses: the text has them */
	struct lens_text text;
};

static int read_open(struct inode *inode, struct file *file)
{
	struct reader *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	mutex_init(&r->lock);
	file->private_data = r;
	return 0;
}

static int read_release(struct inode *inode, struct file *file)
{
	struct reader *r = file->private_data;

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

/* Kept files answer without an access, but not for a GPU that has gone. */
static int collect(const struct lens_file *f, bool addresses, struct lens_text *t)
{
	int err;

	if (!f->type->past) {
		err = lens_dev_get(f->dev);
		if (!err)
			err = lens_dev_put(f->dev, 0);
		if (err)
			return err;
	}
	err = f->type->show(f, addresses, t);
	return err ? err : t->err;
}

/*
 * Who may read is asked each time: what an open file says was collected for somebody
 * who may have had more power than the one who goes on reading it, or more than he
 * himself has now.
 */
static ssize_t read_text(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file *f = pde_data(file_inode(file));
	struct reader *r = file->private_data;
	struct lens_text fresh = { };
	bool addresses, refused;
	ssize_t ret;

	ret = mutex_lock_interruptible(&r->lock);
	if (ret)
		return ret;
	addresses = lens_may_see_addresses(file);
	refused = f->type->raw && !lens_may_see_raw(file);
	if (*pos == 0 || !r->collected || refused || (r->addresses && !addresses)) {
		ret = refused ? -EPERM : collect(f, addresses, &fresh);
		lens_note_call(f, ret);
		if (ret) {
			lens_text_free(&fresh);
			goto out;
		}
		lens_text_free(&r->text);
		r->text = fresh;
		r->collected = true;
		r->addresses = addresses;
	}
	ret = simple_read_from_buffer(buf, count, pos, r->text.buf, r->text.len);
out:
	mutex_unlock(&r->lock);
	return ret;
}

static const struct proc_ops read_ops = {
	.proc_open = read_open,
	.proc_read = read_text,
	.proc_lseek = default_llseek,
	.proc_release = read_release,
};

/* -- writing -- */

static int parse(const struct lens_file_type *type, const char *text, size_t len,
		 struct lens_ref *ref, u32 *value)
{
	return type->act ? lens_parse_ref(text, len, ref) :
			   lens_parse_ref_value(text, len, ref, value);
}

static int act(struct lens_file *f, const struct lens_ref *ref, u32 value, int *runlist)
{
	struct lens_gpu *gpu = &f->dev->gpu;

	if (!lens_gpu_has_host(gpu))
		return -EOPNOTSUPP;
	return f->type->act ? f->type->act(gpu, ref, runlist) :
			      f->type->act_with(gpu, ref, value, runlist);
}

static ssize_t write_control(struct file *file, const char __user *buf, size_t count, loff_t *pos)
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
	err = parse(f->type, text, count, &ref, &value);
	if (err)
		goto out;
	parsed = true;
	runlist = ref.runlist;
	err = lens_dev_steer(f->dev);
	if (err)
		goto out;
	err = lens_dev_unsteer(f->dev, act(f, &ref, value, &runlist));
	if (err == -EINVAL && ref.runlist == LENS_NONE && f->dev->gpu.chip->ids_per_runlist)
		pr_info_ratelimited("gpulens: gpu%d %s: write RUNLIST:ID, more than one runlist (or none) holds %u\n",
				    f->dev->index, f->type->name, ref.id);
out:
	lens_trace_control(f->dev, f->type->name, runlist, parsed ? (s64)ref.id : -1, err);
	lens_note_call(f, err);
	return err ? err : count;
}

static const struct proc_ops write_ops = {
	.proc_write = write_control,
	.proc_lseek = noop_llseek,
};

/* -- the directory -- */

static const struct lens_file_type kept_files[] = {
	{ .name = "chip", .show = show_chip },
	{ .name = "device_info", .show = show_device_info },
	{ .name = "num_gpcs", .show = show_num_gpcs },
	{ .name = "num_tpc_per_gpc", .show = show_num_tpc_per_gpc },
	{ .name = "num_ces", .show = show_num_ces },
	{ .name = "gpc_mask", .show = show_gpc_mask },
	{ .name = "tpc_map", .show = show_tpc_map },
	{ .name = "pce_map", .show = show_pce_map },
	{ .name = "copy_topology", .show = show_copy_topology },
	{ .name = "local_memory", .show = show_local_memory },
	{ .name = "bars", .show = show_bars },
	{ .name = "snapshot", .show = lens_show_snapshot },
	{ .name = "image", .raw = true, .show = lens_show_image },
	{ .name = "stats", .past = true, .show = lens_show_stats },
	{ .name = "samples", .ops = &lens_samples_ops },
};

static const struct lens_file_type runlist_file = { .name = "runlist%u", .show = show_runlist };

static const struct lens_file_type tpc_mask_file = {
	.name = "gpc%u_tpc_mask", .show = show_tpc_mask,
};

static const struct lens_file_type lce_for_pce_file = {
	.name = "lce_for_pce%u", .show = show_lce_for_pce,
};

static const struct lens_file_type shared_lce_file = {
	.name = "shared_lce_for_grce%u", .show = show_shared_lce,
};

static int add_file(struct lens_dev *dev, const struct lens_file_type *type, u32 arg)
{
	umode_t mode = type->ops ? 0600 : lens_steers(type) ? 0200 : type->raw ? 0400 :
		       lens_gid < 0 ? 0444 : 0440;
	const struct proc_ops *ops = type->ops ? type->ops :
				     lens_steers(type) ? &write_ops : &read_ops;
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
	if (mode == 0440)
		proc_set_user(entry, GLOBAL_ROOT_UID, make_kgid(&init_user_ns, lens_gid));
	dev->n_files++;
	return 0;
}

static int add_files(struct lens_dev *dev)
{
	const struct lens_topology *topo = &dev->gpu.topo;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < ARRAY_SIZE(kept_files); i++)
		err = add_file(dev, &kept_files[i], 0);
	for (i = 0; !err && i < topo->n_runlists; i++)
		err = add_file(dev, &runlist_file, topo->runlists[i].id);
	for (i = 0; !err && !topo->gpcs_err && i < topo->num_gpcs; i++)
		if (!(topo->gpc_mask & (1U << i)))
			err = add_file(dev, &tpc_mask_file, i);
	for (i = 0; !err && !topo->ce_err && i < LENS_MAX_PCES; i++)
		if (topo->pce_map & (1U << i) && i < dev->gpu.chip->ce.pces)
			err = add_file(dev, &lce_for_pce_file, i);
	for (i = 0; !err && i < topo->n_grces; i++)
		err = add_file(dev, &shared_lce_file, i);
	for (i = 0; !err && i < lens_control_file_count; i++)
		err = add_file(dev, &lens_control_files[i], 0);
	return err;
}

/* procfs warns loudly about a name that is taken; ask first. */
static bool taken(const char *name)
{
	char full[32];
	struct path path;

	snprintf(full, sizeof(full), "/proc/%s", name);
	if (kern_path(full, 0, &path))
		return false;
	path_put(&path);
	return true;
}

int lens_proc_add(struct lens_dev *dev)
{
	char name[16];
	int err;

	snprintf(name, sizeof(name), "gpu%d", dev->index);
	if (taken(name)) {
		/* not EEXIST, which to insmod means that this module is loaded already */
		pr_err("gpulens: /proc/%s exists; is another module of this kind loaded?\n", name);
		return -EBUSY;
	}
	dev->max_files = ARRAY_SIZE(kept_files) + dev->gpu.topo.n_runlists + LENS_MAX_GPCS +
			 LENS_MAX_PCES + LENS_MAX_GRCES + lens_control_file_count;
	dev->files = kvcalloc(dev->max_files, sizeof(*dev->files), GFP_KERNEL);
	if (!dev->files)
		return -ENOMEM;
	dev->dir = proc_mkdir(name, NULL);
	err = dev->dir ? add_files(dev) : -EBUSY;
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
