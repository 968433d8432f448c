// SPDX-License-Identifier: GPL-2.0
/*
 * The file snapshot (uapi/gpulens.h). All is collected in one use of the GPU, then laid out as
 * records.
 */
#include <linux/build_bug.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../include/uapi/gpulens.h"
#include "../src/linux/sampler.h"
#include "files.h"

static_assert(sizeof(struct gpulens_header) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_chip) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_engine) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_engine_now) == GPULENS_RECORD_BYTES);
static_assert(LENS_ENGINE_UNKNOWN == (int)GPULENS_SAMPLE_ERROR);
static_assert(LENS_ENGINE_SWITCH == (int)GPULENS_SAMPLE_SWITCH);
static_assert(sizeof(struct gpulens_runlist) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_tsg) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_channel) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_gpc) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_pce) == GPULENS_RECORD_BYTES);
static_assert(sizeof(struct gpulens_grce) == GPULENS_RECORD_BYTES);

struct snapshot_writer {
	u8 *buf;
	u32 used, records;	/* records written; capacity */
};

/* Returns the next record, zeroed. The caller has counted the records. */
static void *snapshot_add_record(struct snapshot_writer *w, u16 type)
{
	u8 *rec = w->buf + (w->used + 1) * GPULENS_RECORD_BYTES;

	if (WARN_ON_ONCE(w->used == w->records))
		rec -= GPULENS_RECORD_BYTES;
	else
		w->used++;
	*(__force __le16 *)rec = cpu_to_le16(type);
	return rec;
}

static __le16 snapshot_encode_id(int id)
{
	return cpu_to_le16((u16)id);
}

void lens_snapshot_put_engine(const struct lens_gpu *gpu, const struct lens_engine *e,
			      struct gpulens_engine *rec)
{
	char name[LENS_ENGINE_NAME];

	rec->type = cpu_to_le16(GPULENS_RECORD_ENGINE);
	/* No manual names such a wide type; the name contains the whole number. */
	rec->engine_type = cpu_to_le16(min_t(u32, e->type, GPULENS_ENGINE_TYPE_WIDE));
	rec->inst = cpu_to_le16(e->inst);
	rec->runlist = snapshot_encode_id(e->runlist);
	rec->engine_id = snapshot_encode_id(e->engine_id);
	rec->intr = snapshot_encode_id(e->intr);
	rec->reset = snapshot_encode_id(e->reset);
	rec->fault = snapshot_encode_id(e->fault);
	rec->pri_base = cpu_to_le32(e->pri_base);
	rec->runlist_base = cpu_to_le32(e->runlist_base);
	lens_engine_format_name(gpu, e, name);
	strscpy(rec->name, name, sizeof(rec->name));
	rec->flags = lens_engine_is_grce(gpu, e) ? GPULENS_ENGINE_GRCE : 0;
}

struct snapshot_content {
	struct lens_runlist_snap snap[LENS_MAX_RUNLISTS];
	int err[LENS_MAX_RUNLISTS];
	struct lens_ce_map ce;
	int ce_err;
	u64 memory_bytes;
	bool engines_read;	/* now and now_err are filled */
	struct lens_engine_status now[LENS_MAX_ENGINES];
	int now_err[LENS_MAX_ENGINES];
};

static void snapshot_put_topology(struct snapshot_writer *w, const struct lens_dev *dev,
				  const struct snapshot_content *all)
{
	const struct lens_gpu *gpu = &dev->gpu;
	const struct lens_topology *topo = &gpu->topo;
	struct gpulens_chip *chip;
	u32 i, first, n;

	chip = snapshot_add_record(w, GPULENS_RECORD_CHIP);
	chip->chip_id = cpu_to_le16(gpu->chip_id);
	chip->boot0 = cpu_to_le32(gpu->boot0);
	chip->local_memory = cpu_to_le64(all->memory_bytes);
	chip->num_gpcs = topo->num_gpcs;
	chip->num_tpc_per_gpc = topo->num_tpc_per_gpc;
	chip->num_ces = topo->num_ces;
	chip->ids_per_runlist = gpu->chip->ids_per_runlist;
	chip->gpc_mask = cpu_to_le32(topo->gpc_mask);
	chip->pce_map = cpu_to_le32(all->ce.pce_map);
	strscpy(chip->name, gpu->name, sizeof(chip->name));
	strscpy(chip->device, dev->where, sizeof(chip->device));
	chip->engines_error = -topo->devices_err;
	chip->engines_dropped = min_t(u32, topo->dropped_engines, U8_MAX);
	chip->gpcs_error = -topo->gpcs_err;
	chip->copy_error = -all->ce_err;

	for (i = 0; i < topo->n_engines; i++)
		lens_snapshot_put_engine(gpu, &topo->engines[i],
					 snapshot_add_record(w, GPULENS_RECORD_ENGINE));
	for (i = 0; !topo->gpcs_err && i < topo->num_gpcs; i++) {
		struct gpulens_gpc *rec;

		if (topo->gpc_mask & (1U << i))
			continue;
		rec = snapshot_add_record(w, GPULENS_RECORD_GPC);
		n = lens_gpc_count_tpcs(topo, i, &first);
		rec->id = cpu_to_le16(i);
		rec->tpc_mask = cpu_to_le32(topo->tpc_mask[i]);
		rec->first_tpc = cpu_to_le16(first);
		rec->tpcs = cpu_to_le16(n);
	}
	for (i = 0; !all->ce_err && i < gpu->chip->ce.pces; i++) {
		struct gpulens_pce *rec;

		if (!(all->ce.pce_map & (1U << i)))
			continue;
		rec = snapshot_add_record(w, GPULENS_RECORD_PCE);
		rec->id = cpu_to_le16(i);
		rec->lce = snapshot_encode_id(all->ce.lce_for_pce[i] == gpu->chip->ce.lce_none ?
				 GPULENS_NONE : all->ce.lce_for_pce[i]);
	}
	for (i = 0; !all->ce_err && i < all->ce.n_grces; i++) {
		struct gpulens_grce *rec = snapshot_add_record(w, GPULENS_RECORD_GRCE);

		rec->id = cpu_to_le16(i);
		rec->shared_lce = snapshot_encode_id(all->ce.shared_lce[i] == LENS_LCE_NONE ?
					GPULENS_NONE : all->ce.shared_lce[i]);
	}
}

static void snapshot_put_channel(struct snapshot_writer *w, const struct lens_gpu *gpu,
				 const struct lens_runlist_snap *snap, u32 i,
				 const struct lens_entry *e, int tsg)
{
	struct gpulens_channel *rec = snapshot_add_record(w, GPULENS_RECORD_CHANNEL);
	const u32 *state = &snap->state[2 * i];
	struct lens_channel_state s;
	u32 flags = e->has_target ? 0 : GPULENS_CHANNEL_NO_TARGET;
	u64 inst = e->inst;

	rec->runlist = cpu_to_le16(snap->rl->id);
	rec->tsg = snapshot_encode_id(tsg);
	rec->id = cpu_to_le16(e->id);
	rec->runqueue = e->runqueue;
	rec->inst_target = e->inst_target;
	rec->error = -snap->err[i];
	if (!rec->error) {
		gpu->chip->host->decode_channel(state, &s);
		flags |= s.enable ? GPULENS_CHANNEL_ENABLED : 0;
		flags |= s.next ? GPULENS_CHANNEL_NEXT : 0;
		flags |= s.ctx_reload ? GPULENS_CHANNEL_CTX_RELOAD : 0;
		flags |= s.pbdma_faulted ? GPULENS_CHANNEL_PBDMA_FAULTED : 0;
		flags |= s.eng_faulted ? GPULENS_CHANNEL_ENG_FAULTED : 0;
		flags |= s.busy ? GPULENS_CHANNEL_BUSY : 0;
		flags |= s.on_pbdma ? GPULENS_CHANNEL_ON_PBDMA : 0;
		flags |= s.on_eng ? GPULENS_CHANNEL_ON_ENG : 0;
		flags |= s.pending ? GPULENS_CHANNEL_PENDING : 0;
		flags |= s.pbdma_busy ? GPULENS_CHANNEL_PBDMA_BUSY : 0;
		flags |= s.eng_busy ? GPULENS_CHANNEL_ENG_BUSY : 0;
		flags |= s.acquire_fail ? GPULENS_CHANNEL_ACQUIRE_FAIL : 0;
		flags |= s.bound ? GPULENS_CHANNEL_BOUND : 0;
		rec->status = s.status;
		if (s.pccsr) {
			inst = s.inst;
			rec->inst_target = s.inst_target;
			flags &= ~GPULENS_CHANNEL_NO_TARGET;
		}
		rec->raw[0] = cpu_to_le32(state[0]);
		rec->raw[1] = cpu_to_le32(state[1]);
	}
	rec->flags = cpu_to_le32(flags);
	rec->inst = cpu_to_le64(inst);
}

static void snapshot_put_runlist(struct snapshot_writer *w, const struct lens_gpu *gpu,
				 const struct lens_runlist_snap *snap, int err)
{
	struct gpulens_runlist *rec = snapshot_add_record(w, GPULENS_RECORD_RUNLIST);
	u32 i, left = 0, n = err ? 0 : snap->n;
	struct gpulens_tsg *tsg;
	struct lens_entry e;
	int tsgid = LENS_NONE;

	rec->id = cpu_to_le16(snap->rl->id);
	rec->entries = cpu_to_le16(n);
	rec->error = cpu_to_le16(-err);
	rec->flags = cpu_to_le32((snap->regs.pending ? GPULENS_RUNLIST_PENDING : 0) |
				 (snap->torn ? GPULENS_RUNLIST_TORN : 0) |
				 (snap->has_regs ? GPULENS_RUNLIST_REGS : 0));
	rec->length = cpu_to_le32(snap->regs.length);
	rec->channels = cpu_to_le32(snap->rl->channels);
	rec->pbdmas = cpu_to_le32(snap->rl->pbdmas);
	rec->base = cpu_to_le64(snap->regs.base);
	rec->target = snap->regs.target;
	for (i = 0; i < n; i++) {
		gpu->chip->host->decode_entry(&snap->entries[i * gpu->chip->entry_words], &e);
		if (e.is_tsg) {
			tsg = snapshot_add_record(w, GPULENS_RECORD_TSG);
			tsg->runlist = cpu_to_le16(snap->rl->id);
			tsg->id = cpu_to_le16(e.id);
			tsg->length = cpu_to_le16(e.length);
			tsg->timeslice_scale = e.scale;
			tsg->timeslice_timeout = e.timeout;
			tsg->timeslice_ns = cpu_to_le64(lens_timeslice_decode(e.timeout, e.scale));
			tsgid = e.id;
			left = e.length;
			continue;
		}
		snapshot_put_channel(w, gpu, snap, i, &e, left ? tsgid : LENS_NONE);
		if (left)
			left--;
	}
}

static void snapshot_put_engine_now(struct snapshot_writer *w, u32 engine,
				    const struct lens_engine_status *s, int err)
{
	const struct lens_occupant *on;
	struct gpulens_engine_now *rec = snapshot_add_record(w, GPULENS_RECORD_ENGINE_NOW);

	rec->engine = cpu_to_le16(engine);
	rec->error = -err;
	rec->id = snapshot_encode_id(GPULENS_NONE);
	rec->channel = snapshot_encode_id(GPULENS_NONE);
	if (err)
		return;
	rec->kind = s->state;
	if (s->state == LENS_ENGINE_UNKNOWN)
		return;
	on = lens_engine_get_occupant(s);
	rec->flags = lens_sample_flags(s);
	rec->id = snapshot_encode_id(on->id);
	rec->channel = snapshot_encode_id(on->channel);
}

static int snapshot_lay_out(const struct lens_file *f, struct snapshot_content *all, u64 start,
			    u64 took, struct lens_text *t)
{
	const struct lens_topology *topo = &f->dev->gpu.topo;
	struct gpulens_header *h;
	struct snapshot_writer w = { };
	u32 i;

	w.records = 1 + 2 * topo->n_engines + LENS_MAX_GPCS + LENS_MAX_PCES + LENS_MAX_GRCES;
	for (i = 0; i < topo->n_runlists; i++)
		w.records += 1 + (all->err[i] ? 0 : all->snap[i].n);
	w.buf = kvcalloc(w.records + 1, GPULENS_RECORD_BYTES, GFP_KERNEL_ACCOUNT);
	if (!w.buf)
		return -ENOMEM;
	snapshot_put_topology(&w, f->dev, all);
	for (i = 0; i < topo->n_engines && all->engines_read; i++)
		snapshot_put_engine_now(&w, i, &all->now[i], all->now_err[i]);
	for (i = 0; i < topo->n_runlists; i++)
		snapshot_put_runlist(&w, &f->dev->gpu, &all->snap[i], all->err[i]);
	h = (struct gpulens_header *)w.buf;
	h->magic = cpu_to_le32(GPULENS_MAGIC);
	h->version = cpu_to_le16(GPULENS_VERSION);
	h->record_bytes = cpu_to_le16(GPULENS_RECORD_BYTES);
	h->records = cpu_to_le32(w.used);
	h->gpu = cpu_to_le32(f->dev->index);
	h->time_ns = cpu_to_le64(start);
	h->took_ns = cpu_to_le64(took);
	t->buf = w.buf;
	t->len = (size_t)(w.used + 1) * GPULENS_RECORD_BYTES;
	t->cap = (size_t)(w.records + 1) * GPULENS_RECORD_BYTES;
	return 0;
}

/* Reads what needs a capability. */
static void snapshot_collect_scheduling(struct lens_dev *dev, struct snapshot_content *all)
{
	struct lens_gpu *gpu = &dev->gpu;
	const struct lens_topology *topo = &gpu->topo;
	u32 i;

	lockdep_assert_held(&dev->lock);
	for (i = 0; i < topo->n_runlists; i++)
		all->err[i] = lens_snap_fill(gpu, &all->snap[i], false);
	for (i = 0; i < topo->n_engines; i++)
		all->now_err[i] = lens_engine_read(gpu, &topo->engines[i], &all->now[i]);
	all->engines_read = true;
}

/* Without observe, the error of each runlist is EPERM, and a GPU that sleeps shows what is kept. */
int lens_show_snapshot(const struct lens_file *f, bool observe, struct lens_text *t)
{
	struct lens_gpu *gpu = &f->dev->gpu;
	const struct lens_topology *topo = &gpu->topo;
	struct snapshot_content *all;
	u64 start, took = 0;
	int err;
	u32 i;

	all = kvzalloc(sizeof(*all), GFP_KERNEL_ACCOUNT);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < topo->n_runlists; i++) {
		all->snap[i].rl = &topo->runlists[i];
		all->err[i] = -EPERM;
	}
	err = lens_dev_begin_use(f->dev);
	start = ktime_get_ns();
	if (!err) {
		/* Stays 0 after an error: unknown. */
		lens_gpu_read_memory_size(gpu, &all->memory_bytes);
		all->ce_err = lens_ce_map_read(gpu, &all->ce);
		if (observe)
			snapshot_collect_scheduling(f->dev, all);
		took = ktime_get_ns() - start;
		err = lens_dev_end_use(f->dev, 0);
	} else if (err == -ENODATA && !observe) {
		/* The copy engines' map is not kept, since it may change. */
		all->memory_bytes = topo->memory_bytes;
		all->ce_err = err;
		err = 0;
	}
	if (!err)
		err = snapshot_lay_out(f, all, start, took, t);
	for (i = 0; i < topo->n_runlists; i++)
		lens_snap_free(&all->snap[i]);
	kvfree(all);
	return err;
}
