// SPDX-License-Identifier: GPL-2.0
/*
 * The list of GPUs. A GPU that was removed keeps its number and its files, which return ENODEV,
 * until there is a GPU at the same address again or the module is unloaded. Removing the files
 * waits for who is inside of one, which may be for ever: it is done by a worker, without a lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/wait.h>

#include "device.h"
#include "devices.h"
#include "mmio.h"

/* Time limit of attaching, which holds the PCI core's rescan lock: about 400 reads. */
#define DEVICES_ATTACH_MS 2000

/* Between messages about who keeps the module from being unloaded. */
#define DEVICES_REPORT_MS 5000

static LIST_HEAD(devices_list);
/* Those whose files are being removed, or were, and whose number is kept. */
static LIST_HEAD(devices_retired);
static atomic_t devices_removing;
static DECLARE_WAIT_QUEUE_HEAD(devices_removed);
static bool devices_suspended;
/* Protects the lists: attaching, numbering, detaching. */
DEFINE_MUTEX(lens_devices_lock);
static const struct lens_devices_listener *devices_listener;
/*
 * Not freezable: a GPU may be removed while the machine sleeps, which wakes only after that.
 * Unbound: work of a GPU whose registers are slow holds up no other work of a processor.
 */
static struct workqueue_struct *devices_wq;

/* -- attaching and detaching -- */

static int devices_map_gpu(struct lens_dev *dev, bool quiet)
{
	int err;

	err = dev->bus->map(dev);
	if (err)
		return err;
	/* All registers that are read lie in the first 16 MiB. */
	if (dev->bar0_len < 0x1000000) {
		err = -EOPNOTSUPP;
		goto err_unmap;
	}
	dev->io.ops = &lens_mmio_ops;
	err = lens_dev_begin_locked(dev, DEVICES_ATTACH_MS);
	if (err)
		goto err_unmap;
	err = lens_gpu_identify(&dev->gpu, &dev->io);
	if (!err)
		err = lens_gpu_read_topology(&dev->gpu);
	else if (err == -ENODEV && dev->gpu.chip_id)
		err = -EOPNOTSUPP;
	err = lens_dev_end_locked(dev, err);
	if (err == -EOPNOTSUPP && dev->gpu.chip_id && !quiet)
		pr_info("%s: unknown chip %#x (BOOT_0 %#x), not attached\n", dev->where,
			dev->gpu.chip_id, dev->gpu.boot0);
	if (err)
		goto err_unmap;
	return 0;

err_unmap:
	dev->bus->unmap(dev);
	dev->bar0 = NULL;
	return err;
}

/*
 * No access to BAR0 after this. The PCI core's locks may be held, so that each wait is short:
 *	- holds end in one use of limited time, which ends all others
 *	- dev->gone ends uses, which hold dev->lock, at their next access
 *	- a sampler, which is not frozen, stops after the register that it reads
 */
static void devices_unmap_gpu(struct lens_dev *dev)
{
	lockdep_assert_held(&lens_devices_lock);
	lens_holds_end_all(dev, LENS_HOLDS_GONE);
	WRITE_ONCE(dev->gone, 1);
	lens_holds_stop(dev);
	lens_samplers_stop(dev);
	mutex_lock(&dev->lock);
	if (dev->bar0)
		dev->bus->unmap(dev);
	dev->bar0 = NULL;
	mutex_unlock(&dev->lock);
}

static bool devices_is_index_used(const struct list_head *list, int index)
{
	struct lens_dev *dev;

	list_for_each_entry(dev, list, link)
		if (dev->index == index)
			return true;
	return false;
}

static int devices_find_free_index(void)
{
	int index = 0;

	lockdep_assert_held(&lens_devices_lock);
	while (devices_is_index_used(&devices_list, index) ||
	       devices_is_index_used(&devices_retired, index))
		index++;
	return index;
}

static void devices_add_to_list(struct lens_dev *dev)
{
	struct lens_dev *other;

	lockdep_assert_held(&lens_devices_lock);
	list_for_each_entry(other, &devices_list, link)
		if (other->index > dev->index)
			break;
	list_add_tail(&dev->link, &other->link);
}

static const char *devices_explain_error(const struct lens_dev *dev, int err)
{
	switch (err) {
	case -ENODATA:
		return "the GPU is asleep";
	case -ENXIO:
		return "its memory decoding is off";
	case -EIO:
		return dev->gpu.chip ? "its device table cannot be read" :
				       "BOOT_0 is not that of a GPU";
	case -ETIMEDOUT:
		return "its registers are too slow";
	case -ENODEV:
		return "it does not respond";
	}
	return NULL;
}

static void devices_free_gpu(struct lens_dev *dev)
{
	WARN_ON(dev->bar0 || !list_empty(&dev->samplers.list) || !list_empty(&dev->holds.list));
	put_device(dev->device);
	kvfree(dev);
}

static void devices_remove_files(struct work_struct *work)
{
	struct lens_dev *dev = container_of(work, struct lens_dev, removal);

	devices_listener->remove(dev);
	mutex_lock(&lens_devices_lock);
	dev->files_removed = true;
	if (dev->replaced) {
		list_del(&dev->link);
		devices_free_gpu(dev);
	}
	mutex_unlock(&lens_devices_lock);
	atomic_dec(&devices_removing);
	wake_up_all(&devices_removed);
}

static void devices_retire_gpu(struct lens_dev *dev)
{
	lockdep_assert_held(&lens_devices_lock);
	/* First: uses then end at their next access, and readers stop waiting for samples. */
	devices_unmap_gpu(dev);
	list_move_tail(&dev->link, &devices_retired);
	atomic_inc(&devices_removing);
	queue_work(devices_wq, &dev->removal);
}

bool lens_devices_wait_removed(unsigned int ms)
{
	if (!atomic_read(&devices_removing))
		return false;
	wait_event_timeout(devices_removed, !atomic_read(&devices_removing), msecs_to_jiffies(ms));
	return true;
}

static struct lens_dev *devices_alloc_gpu(const struct lens_bus *bus, struct device *device)
{
	struct lens_dev *dev = kvzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	mutex_init(&dev->control_lock);
	mutex_init(&dev->turn);
	mutex_init(&dev->lock);
	lens_samplers_init(dev);
	lens_holds_init(dev);
	INIT_WORK(&dev->removal, devices_remove_files);
	dev->suspended = devices_suspended;
	dev->bus = bus;
	dev->wq = devices_wq;
	dev->device = get_device(device);
	if (dev_is_pci(device))
		dev->pdev = to_pci_dev(device);
	strscpy(dev->where, dev_name(device), sizeof(dev->where));
	return dev;
}

static void devices_report_failure(const struct lens_dev *dev, int err)
{
	if (devices_explain_error(dev, err))
		pr_info("%s: not attached: %s; will retry\n", dev->where,
			devices_explain_error(dev, err));
	else if (err != -EOPNOTSUPP)
		pr_err("%s: cannot be attached: error %d\n", dev->where, err);
}

static struct lens_dev *devices_find_gpu(const struct list_head *list, const char *where)
{
	struct lens_dev *dev;

	list_for_each_entry(dev, list, link)
		if (!dev->replaced && !strcmp(dev->where, where))
			return dev;
	return NULL;
}

/* The number of the GPU that was at this address, unless somebody is inside of its files. */
static int devices_take_index(const char *where)
{
	struct lens_dev *old = devices_find_gpu(&devices_retired, where);
	int index;

	lockdep_assert_held(&lens_devices_lock);
	if (!old)
		return devices_find_free_index();
	if (!old->files_removed) {
		pr_warn("%s: gets another number, since files of /proc/gpu%d are in use\n", where,
			old->index);
		devices_listener->report_users(old);
		old->replaced = true;
		return devices_find_free_index();
	}
	index = old->index;
	list_del(&old->link);
	devices_free_gpu(old);
	return index;
}

static bool devices_has_moved(const struct lens_dev *dev)
{
	return dev->pdev && pci_resource_start(dev->pdev, 0) != dev->bar0_start;
}

/* Its device is attached no more, and its memory is freed. */
static int devices_give_up(struct lens_dev *dev, int err)
{
	devices_unmap_gpu(dev);
	devices_free_gpu(dev);
	return err;
}

int lens_attach_device(const struct lens_bus *bus, struct device *device, bool quiet)
{
	struct lens_dev *dev, *old;
	int err;

	lockdep_assert_held(&lens_devices_lock);
	old = devices_find_gpu(&devices_list, dev_name(device));
	/* Attach again if its driver moved BAR0, as resizing BARs does. */
	if (old && !old->gone && !devices_has_moved(old))
		return 0;
	dev = devices_alloc_gpu(bus, device);
	if (!dev)
		return -ENOMEM;
	err = devices_map_gpu(dev, quiet);
	if (err) {
		if (!quiet)
			devices_report_failure(dev, err);
		devices_free_gpu(dev);
		return err;
	}
	/* Only now: the files of a removed GPU stay until another GPU replaces it. */
	if (old) {
		devices_retire_gpu(old);
		return devices_give_up(dev, -EINPROGRESS);
	}
	dev->index = devices_take_index(dev->where);
	err = devices_listener->add(dev);
	if (err)
		return devices_give_up(dev, err);
	devices_add_to_list(dev);
	if (!dev->gpu.known)
		pr_warn("%s: unknown chip %#x: only its device table is read, as on %s\n",
			dev->where, dev->gpu.chip_id, dev->gpu.chip->name);
	pr_info("%s: %s is /proc/gpu%d\n", dev->where, dev->gpu.name, dev->index);
	if (dev->gpu.topo.host_err)
		pr_info("%s: no runlists until a driver enables Host (NV_PMC_ENABLE PFIFO is 0)\n",
			dev->where);
	return 0;
}

/* -- events -- */

/* Call fn for the GPU of that device, if it is attached. */
static void devices_call(struct device *device, void (*fn)(struct lens_dev *dev))
{
	struct lens_dev *dev;

	mutex_lock(&lens_devices_lock);
	dev = devices_find_gpu(&devices_list, dev_name(device));
	if (dev && dev->device == device && !dev->gone)
		fn(dev);
	mutex_unlock(&lens_devices_lock);
}

static void devices_begin_unbind(struct lens_dev *dev)
{
	lens_holds_end_all(dev, LENS_HOLDS_UNBIND);
}

static void devices_end_unbind(struct lens_dev *dev)
{
	lens_holds_allow(dev, LENS_HOLDS_UNBIND);
}

void lens_unmap_device(struct device *device)
{
	devices_call(device, devices_unmap_gpu);
}

void lens_release_device(struct device *device)
{
	devices_call(device, devices_begin_unbind);
}

void lens_device_is_free(struct device *device)
{
	devices_call(device, devices_end_unbind);
}

/*
 * From here on until lens_device_wake(), no access: what is not frozen, the workers of holds and
 * samplers, would meet a driver that suspends its GPU.
 */
static void devices_suspend_gpu(struct lens_dev *dev)
{
	lens_holds_end_all(dev, LENS_HOLDS_SUSPEND);
	WRITE_ONCE(dev->suspended, 1);
	lens_holds_stop(dev);
	lens_samplers_drain(dev);
}

static void devices_resume_gpu(struct lens_dev *dev)
{
	WRITE_ONCE(dev->suspended, 0);
	lens_holds_allow(dev, LENS_HOLDS_SUSPEND);
}

/* Before tasks are frozen, and after they go on. */
static int devices_handle_sleep(struct notifier_block *nb, unsigned long event, void *data)
{
	bool sleep = event == PM_SUSPEND_PREPARE || event == PM_HIBERNATION_PREPARE ||
		     event == PM_RESTORE_PREPARE;
	struct lens_dev *dev;

	mutex_lock(&lens_devices_lock);
	devices_suspended = sleep;
	list_for_each_entry(dev, &devices_list, link) {
		if (sleep)
			devices_suspend_gpu(dev);
		else
			devices_resume_gpu(dev);
	}
	mutex_unlock(&lens_devices_lock);
	return NOTIFY_OK;
}

static struct notifier_block devices_pm_notifier = {
	.notifier_call = devices_handle_sleep,
};

/* -- init and exit -- */

int lens_devices_init(const struct lens_devices_listener *listener)
{
	int err;

	devices_listener = listener;
	devices_wq = alloc_workqueue("gpulens", WQ_UNBOUND, 0);
	if (!devices_wq)
		return -ENOMEM;
	err = register_pm_notifier(&devices_pm_notifier);
	if (err)
		destroy_workqueue(devices_wq);
	return err;
}

static void devices_report_users(void)
{
	struct lens_dev *dev;

	mutex_lock(&lens_devices_lock);
	list_for_each_entry(dev, &devices_retired, link)
		if (!dev->files_removed)
			devices_listener->report_users(dev);
	mutex_unlock(&lens_devices_lock);
}

void lens_devices_exit(void)
{
	struct lens_dev *dev, *next;

	unregister_pm_notifier(&devices_pm_notifier);
	mutex_lock(&lens_devices_lock);
	list_for_each_entry(dev, &devices_list, link)
		lens_holds_end_all(dev, LENS_HOLDS_GONE);
	list_for_each_entry(dev, &devices_list, link)
		WRITE_ONCE(dev->gone, 1);
	list_for_each_entry_safe(dev, next, &devices_list, link)
		devices_retire_gpu(dev);
	mutex_unlock(&lens_devices_lock);
	while (!wait_event_timeout(devices_removed, !atomic_read(&devices_removing),
				   msecs_to_jiffies(DEVICES_REPORT_MS)))
		devices_report_users();
	/* Waits for the end of the work, which has freed those that were replaced. */
	destroy_workqueue(devices_wq);
	list_for_each_entry_safe(dev, next, &devices_retired, link)
		devices_free_gpu(dev);
}
