// SPDX-License-Identifier: GPL-2.0
/*
 * A recorder of all reads. See include/gpulens/record.h.
 */
#include "core.h"
#include "../include/gpulens/record.h"

static struct lens_recorder *record_get_recorder(struct lens_io *io)
{
	return container_of(io, struct lens_recorder, io);
}

static u32 record_rd32(struct lens_io *io, u32 off)
{
	struct lens_recorder *r = record_get_recorder(io);
	u32 val;

	/*
	 * Room for one word may be missing; then the recording lacks the word. While the
	 * machine is stopped, nothing is reserved.
	 */
	if (r->reserve && !io->held)
		r->reserve(r, 1);
	val = r->inner->ops->rd32(r->inner, off);
	r->note(r, 'r', off, &val, 1);
	return val;
}

static void record_wr32(struct lens_io *io, u32 off, u32 val)
{
}

static int record_copy(struct lens_io *io, enum lens_aperture ap, u64 addr, u64 *dst, u32 words)
{
	struct lens_recorder *r = record_get_recorder(io);
	int err = 0;

	if (!io->held && r->reserve)
		err = r->reserve(r, 2 * words);
	if (!err)
		err = r->inner->ops->copy(r->inner, ap, addr, dst, words);
	if (!err)
		r->note(r, ap == LENS_VID ? 'v' : 's', addr, (const u32 *)dst, 2 * words);
	return err;
}

static int record_store32(struct lens_io *io, enum lens_aperture ap, u64 addr, u32 val)
{
	return -EPERM;
}

static int record_exclusive(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	struct lens_recorder *r = record_get_recorder(io);
	int err = r->reserve ? r->reserve(r, LENS_RECORD_EXCLUSIVE_WORDS) : 0;

	if (err)
		return err;
	/* record_rd32() and record_copy() must not allocate while the machine is stopped. */
	io->held = true;
	err = r->inner->ops->exclusive(r->inner, fn, arg);
	io->held = false;
	return err;
}

static enum lens_stop record_stop_state(struct lens_io *io, u32 accesses)
{
	struct lens_recorder *r = record_get_recorder(io);

	return lens_stop_get_state(r->inner, accesses);
}

/* atomic() is for register writes, of which a recording has none. */
static int record_atomic(struct lens_io *io, int (*fn)(void *arg), void *arg)
{
	return -EPERM;
}

static int record_wait_us(struct lens_io *io, u32 us)
{
	struct lens_recorder *r = record_get_recorder(io);

	return r->inner->ops->wait_us(r->inner, us);
}

static const struct lens_io_ops record_ops = {
	.rd32 = record_rd32,
	.wr32 = record_wr32,
	.copy = record_copy,
	.store32 = record_store32,
	.exclusive = record_exclusive,
	.stop_state = record_stop_state,
	.atomic = record_atomic,
	.wait_us = record_wait_us,
};

void lens_record_init(struct lens_recorder *r, struct lens_io *inner)
{
	memset(&r->io, 0, sizeof(r->io));
	r->io.ops = &record_ops;
	r->inner = inner;
}
