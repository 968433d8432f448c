/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who may do what with a file of /proc/gpuX.
 */
#ifndef _LENS_PERMISSION_H_
#define _LENS_PERMISSION_H_

#include <linux/types.h>

struct file;
struct proc_dir_entry;

/* Who may open a file of /proc/gpuX. */
enum lens_access {
	LENS_ACCESS_TOPOLOGY,	/* everyone */
	LENS_ACCESS_SCHEDULING,	/* lens_may_observe() */
	LENS_ACCESS_RAW,	/* words as read: lens_may_observe(), and no lockdown */
	LENS_ACCESS_SAMPLES,	/* lens_may_observe() */
	LENS_ACCESS_CONTROL,	/* lens_may_control() */
};

/* Checks the module's parameters: 0 or -EINVAL. */
int lens_permission_init(void);
/* Mode of a file's entry in /proc, and the group of it that gid= names. */
umode_t lens_file_mode(enum lens_access access);
void lens_set_file_group(struct proc_dir_entry *entry, umode_t mode);
/*
 * May this file's opener and the caller read it? 0 or -EPERM. *observe: do they pass
 * lens_may_observe()? If not, no address and no TSG is shown.
 */
int lens_check_reader(enum lens_access access, const struct file *file, bool *observe);
/* May this file's opener and the caller see TSGs, channels, contexts and addresses? */
bool lens_may_observe(const struct file *file);
/* May they control the GPU? 0; -EPERM; -EACCES: the module was loaded with control=0. */
int lens_may_control(const struct file *file);

#endif /* _LENS_PERMISSION_H_ */
