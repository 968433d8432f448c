// SPDX-License-Identifier: GPL-2.0
/*
 * Permissions. The opener of a file and the caller must both have the capability, in the initial
 * user namespace: a file descriptor that is passed on gives no privilege.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/proc_fs.h>
#include <linux/security.h>
#include <linux/uidgid.h>

#include "permission.h"

static int permission_gid = -1;
module_param_named(gid, permission_gid, int, 0444);
MODULE_PARM_DESC(gid, "group of the files that show scheduling; its members also need CAP_PERFMON or CAP_SYS_ADMIN; -1: no group (default)");

static bool permission_control = true;
module_param_named(control, permission_control, bool, 0444);
MODULE_PARM_DESC(control, "allow the files that control the GPU (default 1); 0 refuses every write with EACCES");

int __init lens_permission_init(void)
{
	if (permission_gid < -1)
		return -EINVAL;
	if (permission_gid >= 0 && !gid_valid(make_kgid(&init_user_ns, permission_gid)))
		return -EINVAL;
	return 0;
}

static bool permission_has_cap(const struct file *file, int cap)
{
	return file_ns_capable(file, &init_user_ns, cap) && capable(cap);
}

bool lens_may_observe(const struct file *file)
{
	return permission_has_cap(file, CAP_PERFMON) || permission_has_cap(file, CAP_SYS_ADMIN);
}

static bool permission_may_see_raw(const struct file *file)
{
	return lens_may_observe(file) && !security_locked_down(LOCKDOWN_PCI_ACCESS);
}

int lens_check_reader(enum lens_access access, const struct file *file, bool *observe)
{
	*observe = lens_may_observe(file);
	switch (access) {
	case LENS_ACCESS_TOPOLOGY:
		return 0;
	case LENS_ACCESS_RAW:
		return permission_may_see_raw(file) ? 0 : -EPERM;
	default:
		return *observe ? 0 : -EPERM;
	}
}

int lens_may_control(const struct file *file)
{
	if (!permission_has_cap(file, CAP_SYS_ADMIN) || security_locked_down(LOCKDOWN_PCI_ACCESS))
		return -EPERM;
	return permission_control ? 0 : -EACCES;
}

umode_t lens_file_mode(enum lens_access access)
{
	bool group = permission_gid >= 0;

	switch (access) {
	case LENS_ACCESS_TOPOLOGY:
		/* Partitioning programs run without a capability. */
		return 0444;
	case LENS_ACCESS_SCHEDULING:
	case LENS_ACCESS_RAW:
		return group ? 0440 : 0400;
	case LENS_ACCESS_SAMPLES:
		return group ? 0660 : 0600;
	default:
		return 0200;
	}
}

void lens_set_file_group(struct proc_dir_entry *entry, umode_t mode)
{
	/* Only where the group may do more than other users. */
	if (permission_gid >= 0 && mode & 0040 && !(mode & 0004))
		proc_set_user(entry, GLOBAL_ROOT_UID, make_kgid(&init_user_ns, permission_gid));
}
