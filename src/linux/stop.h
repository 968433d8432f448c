/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stops of the machine: members of lens_mmio_ops that access memory, or registers in one stop.
 */
#ifndef _LENS_STOP_H_
#define _LENS_STOP_H_

#include "../../include/gpulens/gpu.h"

struct lens_use;

/* Checks the module's parameters: 0 or -EINVAL. */
int lens_stop_init(void);
/* While the machine is stopped: is another access allowed? */
bool lens_stop_may_access(struct lens_use *use, u64 now);
enum lens_stop lens_stop_ask_state(struct lens_io *io, u32 accesses);
int lens_stop_copy(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words);
int lens_stop_store32(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val);
int lens_stop_call_exclusive(struct lens_io *io, int (*fn)(void *arg), void *arg);
int lens_stop_call_exclusive_at(struct lens_io *io, enum lens_aperture ap, u64 addr,
				int (*fn)(void *arg), void *arg);
int lens_stop_call_atomic(struct lens_io *io, int (*fn)(void *arg), void *arg);

#endif /* _LENS_STOP_H_ */
