// SPDX-License-Identifier: GPL-2.0
/*
 * The directory /proc/gpuX: makes, reads and writes its files, which show.c and control.c list.
 * Text is collected at the first read of an open file and served from a copy of its own.
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

#include "../src/linux/compat/compat.h"
#include "../src/linux/devices.h"
#include "files.h"
#include "parse.h"

/* -- reading -- */

/* An open file and its text. */
struct files_reader {
	struct mutex lock;	/* for pread(), which the VFS does not serialise */
	bool collected, observe;	/* observe: the text needs lens_may_observe() */
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

static int files_collect_text(const struct lens_file *f, bool observe, struct lens_text *t)
{
	int err;

	/* Check that this is still the GPU that was attached, unless it is asleep. */
	if (f->type->kept) {
		err = lens_dev_begin_use(f->dev);
		if (!err)
			err = lens_dev_end_use(f->dev, 0);
		if (err && err != -ENODATA)
			return err;
	}
	err = f->type->show(f, observe, t);
	return err ? err : t->err;
}

/*
 * Checks permission at every read(): the descriptor may have been passed to, or inherited by, a
 * less privileged process.
 */
static ssize_t files_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file *f = pde_data(file_inode(file));
	struct files_reader *r = file->private_data;
	struct lens_text fresh = { };
	bool observe;
	ssize_t ret;

	lens_file_enter(f);
	ret = mutex_lock_interruptible(&r->lock);
	if (ret)
		goto leave;
	ret = lens_check_reader(f->type->access, file, &observe);
	if (ret || *pos == 0 || !r->collected || (r->observe && !observe)) {
		if (!ret)
			ret = files_collect_text(f, observe, &fresh);
		lens_stats_count_call(f, ret);
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
leave:
	lens_file_leave(f);
	return ret;
}

static const struct proc_ops files_read_ops = {
	.proc_open = files_open,
	.proc_read = files_read,
	.proc_lseek = default_llseek,
	.proc_release = files_release,
};

/* -- writing -- */

static ssize_t files_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	struct lens_file_request r = { .owner = file, .runlist = LENS_NONE };
	struct lens_file *f = pde_data(file_inode(file));
	char text[LENS_ID_MAX + 2];
	bool parsed = false;
	int err;

	lens_file_enter(f);
	err = lens_may_control(file);
	if (err)
		goto out;
	err = -EINVAL;
	if (!count || count > sizeof(text))
		goto out;
	err = -EFAULT;
	if (copy_from_user(text, buf, count))
		goto out;
	err = lens_parse_request(text, count, f->type->form, &r.ref, &r.value);
	if (err)
		goto out;
	if (r.ref.runlist == LENS_ALL) {
		err = lens_holds_renew(f->dev, file, r.value);
		goto out;
	}
	parsed = true;
	r.runlist = r.ref.runlist;
	err = lens_dev_begin_control(f->dev);
	if (err)
		goto out;
	err = lens_gpu_has_host(&f->dev->gpu) ? f->type->act(f->dev, &r) : -EOPNOTSUPP;
	if (err == -EINVAL && r.ref.runlist == LENS_NONE && f->dev->gpu.chip->ids_per_runlist)
		lens_control_report_holders(f, r.ref.id);
	err = lens_dev_end_control(f->dev, err);
out:
	lens_trace_control(f->dev, f->type->name, r.runlist, parsed ? (s64)r.ref.id : -1, err);
	lens_stats_count_call(f, err);
	lens_file_leave(f);
	return err ? err : count;
}

static const struct proc_ops files_write_ops = {
	.proc_write = files_write,
	.proc_lseek = noop_llseek,
};

static int files_release_holds(struct inode *inode, struct file *file)
{
	struct lens_file *f = pde_data(inode);

	lens_holds_end_owner(f->dev, file);
	return 0;
}

static const struct proc_ops files_hold_ops = {
	.proc_write = files_write,
	.proc_lseek = noop_llseek,
	.proc_release = files_release_holds,
};

/* -- the directory -- */

static int files_add_file(struct lens_dev *dev, const struct lens_file_type *type, u32 arg)
{
	umode_t mode = lens_file_mode(type->access);
	const struct proc_ops *ops = type->ops ? type->ops :
				     type->form == LENS_FORM_HOLD ? &files_hold_ops :
				     lens_file_is_control(type) ? &files_write_ops :
								  &files_read_ops;
	struct proc_dir_entry *entry;
	struct lens_file *f;
	char name[32];

	if (WARN_ON_ONCE(dev->n_files == dev->max_files))
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

static int files_add_files(struct lens_dev *dev)
{
	const struct lens_topology *topo = &dev->gpu.topo;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < lens_single_file_count; i++)
		err = files_add_file(dev, &lens_single_files[i], 0);
	for (i = 0; !err && i < topo->n_runlists; i++)
		err = files_add_file(dev, &lens_runlist_file, topo->runlists[i].id);
	for (i = 0; !err && !topo->gpcs_err && i < topo->num_gpcs; i++)
		if (!(topo->gpc_mask & (1U << i)))
			err = files_add_file(dev, &lens_tpc_mask_file, i);
	/* Depends on what does not change; whether it can be read is checked at each read. */
	for (i = 0; !err && i < LENS_MAX_PCES; i++)
		if (topo->ce.pce_map & (1U << i) && i < dev->gpu.chip->ce.pces)
			err = files_add_file(dev, &lens_lce_for_pce_file, i);
	for (i = 0; !err && i < topo->ce.n_grces; i++)
		err = files_add_file(dev, &lens_shared_lce_file, i);
	for (i = 0; !err && dev->gpu.known && i < dev->gpu.chip->cwd.words; i++) {
		err = files_add_file(dev, &lens_cwd_gpc_tpc_id_file, i);
		if (!err)
			err = files_add_file(dev, &lens_cwd_sm_id_file, i);
	}
	for (i = 0; !err && i < lens_control_file_count; i++)
		err = files_add_file(dev, &lens_control_files[i], 0);
	return err;
}

/*
 * Checked first, since procfs warns with a backtrace about a name that exists. In a worker: the
 * process that loads the module may be in a chroot without /proc.
 */
static long files_name_exists(void *name)
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

int lens_proc_add_gpu(struct lens_dev *dev)
{
	char name[16];
	int err;

	snprintf(name, sizeof(name), "gpu%d", dev->index);
	if (work_on_cpu(raw_smp_processor_id(), files_name_exists, name)) {
		/* Not EEXIST, which means to insmod that this module is loaded already. */
		pr_err("/proc/%s exists; is another module of this kind loaded?\n", name);
		return -EBUSY;
	}
	dev->max_files = lens_single_file_count + dev->gpu.topo.n_runlists + LENS_MAX_GPCS +
			 LENS_MAX_PCES + LENS_MAX_GRCES + 2 * LENS_MAX_CWD_WORDS +
			 lens_control_file_count;
	dev->files = kvcalloc(dev->max_files, sizeof(*dev->files), GFP_KERNEL);
	if (!dev->files)
		return -ENOMEM;
	dev->dir = proc_mkdir(name, NULL);
	err = dev->dir ? files_add_files(dev) : -EBUSY;
	if (err)
		lens_proc_remove_gpu(dev);
	return err;
}

void lens_proc_remove_gpu(struct lens_dev *dev)
{
	/* Waits for readers and writers inside a file, and admits no others. */
	if (dev->dir)
		proc_remove(dev->dir);
	dev->dir = NULL;
	kvfree(dev->files);
	dev->files = NULL;
	dev->n_files = 0;
}

void lens_proc_report_users(struct lens_dev *dev)
{
	const struct lens_file *f;
	char name[32];
	u32 i;

	lockdep_assert_held(&lens_devices_lock);
	for (i = 0; i < dev->n_files; i++) {
		f = &dev->files[i];
		if (!atomic_read(&f->inside))
			continue;
		snprintf(name, sizeof(name), f->type->name, f->arg);
		pr_warn("/proc/gpu%d/%s: waiting for process %d, which reads or writes it\n",
			dev->index, name, READ_ONCE(f->caller));
	}
}
