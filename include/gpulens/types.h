/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few types and names the core needs, from the kernel or from libc.
 *
 * The core (src/) is freestanding C that is compiled twice: into the module and
 * into a user-space library. This is the only header that knows which.
 */
#ifndef _GPULENS_TYPES_H_
#define _GPULENS_TYPES_H_

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;

/* As the kernel has them. */
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define cpu_to_le16(v) htole16(v)
#define cpu_to_le32(v) htole32(v)
#define cpu_to_le64(v) htole64(v)

static inline u32 hweight32(u32 w)
{
	return (u32)__builtin_popcount(w);
}
#endif

/**
 * LENS_ARRAY_SIZE() - number of elements of an array
 * @a:	array, not a pointer
 */
#define LENS_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif /* _GPULENS_TYPES_H_ */
