/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Words of system memory at bus addresses, for reading what a GPU reads.
 */
#ifndef _LENS_SYSMEM_H_
#define _LENS_SYSMEM_H_

#include <linux/types.h>

struct lens_dev;
struct page;

/* A page of system memory that is held, for use while the machine is stopped. */
struct lens_pin {
	u64 bus;		/* bus address of its first byte */
	struct page *page;	/* a reference is held; NULL: nothing is pinned */
	void *at, *map;		/* its address; the mapping made for it, or NULL */
};

/*
 * Copy or store words of system memory at a bus address. May sleep. -EIO: not ordinary memory;
 * -ENXIO: the translation is unknown to the kernel; -EBUSY: the device's lock is held, as while a
 * driver is bound; -ENOMEM.
 */
int lens_sysmem_copy(struct lens_dev *dev, u64 addr, u64 *dst, u32 words);
int lens_sysmem_store32(struct lens_dev *dev, u64 addr, u32 val);
/* The same in steps: only pin and unpin may sleep. */
int lens_sysmem_pin(struct lens_dev *dev, u64 addr, struct lens_pin *pin);
bool lens_sysmem_is_pinned(const struct lens_pin *pin, u64 addr, u64 bytes);
int lens_sysmem_read_pinned(const struct lens_pin *pin, u64 addr, void *dst, u32 bytes);
int lens_sysmem_store_pinned(const struct lens_pin *pin, u64 addr, u32 val);
void lens_sysmem_unpin(struct lens_pin *pin);

#endif /* _LENS_SYSMEM_H_ */
