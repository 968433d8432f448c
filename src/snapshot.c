// SPDX-License-Identifier: GPL-2.0
/*
 * Encodes what was read of a GPU as records (include/uapi/gpulens.h).
 */
#include "core.h"
#include "../include/gpulens/snapshot.h"
#include "../include/uapi/gpulens.h"

#define SNAPSHOT_WORDS (GPULENS_RECORD_BYTES / sizeof(u64))

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
	u64 *records;
	u32 used, room;		/* records that were added; that fit */
	u64 rest[SNAPSHOT_WORDS];	/* takes each record that does not fit */
};

/* Returns the next record, zeroed. */
static void *snapshot_add_record(struct snapshot_writer *w, u16 type)
{
	u64 *rec = w->used < w->room ? w->records + (size_t)w->used * SNAPSHOT_WORDS : w->rest;
	__le16 first = cpu_to_le16(type);

	w->used++;
	memset(rec, 0, GPULENS_RECORD_BYTES);
	memcpy(rec, &first, sizeof(first));
	return rec;
}

/* A text that is cut where it does not fit; the record is zeroed. */
static void snapshot_put_text(char *field, size_t bytes, const char *text)
{
	memcpy(field, text, strnlen(text, bytes - 1));
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
	rec->engine_type = cpu_to_le16(e->type < GPULENS_ENGINE_TYPE_WIDE ?
				       e->type : GPULENS_ENGINE_TYPE_WIDE);
	rec->inst = cpu_to_le16(e->inst);
	rec->runlist = snapshot_encode_id(e->runlist);
	rec->engine_id = snapshot_encode_id(e->engine_id);
	rec->intr = snapshot_encode_id(e->intr);
	rec->reset = snapshot_encode_id(e->reset);
	rec->fault = snapshot_encode_id(e->fault);
	rec->pri_base = cpu_to_le32(e->pri_base);
	rec->runlist_base = cpu_to_le32(e->runlist_base);
	lens_engine_format_name(gpu, e, name);
	snapshot_put_text(rec->name, sizeof(rec->name), name);
	rec->flags = lens_engine_is_grce(gpu, e) ? GPULENS_ENGINE_GRCE : 0;
}

static void snapshot_put_topology(struct snapshot_writer *w, const struct lens_gpu *gpu,
				  const struct lens_snapshot *s)
{
	const struct lens_topology *topo = &gpu->topo;
	struct gpulens_chip *chip;
	u32 i, first, n;

	chip = snapshot_add_record(w, GPULENS_RECORD_CHIP);
	chip->chip_id = cpu_to_le16(gpu->chip_id);
	chip->boot0 = cpu_to_le32(gpu->boot0);
	chip->local_memory = cpu_to_le64(s->memory_bytes);
	chip->num_gpcs = topo->num_gpcs;
	chip->num_tpc_per_gpc = topo->num_tpc_per_gpc;
	chip->num_ces = topo->num_ces;
	chip->ids_per_runlist = gpu->chip->ids_per_runlist;
	chip->gpc_mask = cpu_to_le32(topo->gpc_mask);
	chip->pce_map = cpu_to_le32(s->ce.pce_map);
	snapshot_put_text(chip->name, sizeof(chip->name), gpu->name);
	snapshot_put_text(chip->device, sizeof(chip->device), s->where);
	chip->engines_error = -topo->devices_err;
	chip->engines_dropped = topo->dropped_engines < 255 ? topo->dropped_engines : 255;
	chip->gpcs_error = -topo->gpcs_err;
	chip->copy_error = -s->ce_err;

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
	for (i = 0; !s->ce_err && i < gpu->chip->ce.pces; i++) {
		struct gpulens_pce *rec;

		if (!(s->ce.pce_map & (1U << i)))
			continue;
		rec = snapshot_add_record(w, GPULENS_RECORD_PCE);
		rec->id = cpu_to_le16(i);
		rec->lce = snapshot_encode_id(s->ce.lce_for_pce[i] == gpu->chip->ce.lce_none ?
				 GPULENS_NONE : s->ce.lce_for_pce[i]);
	}
	for (i = 0; !s->ce_err && i < s->ce.n_grces; i++) {
		struct gpulens_grce *rec = snapshot_add_record(w, GPULENS_RECORD_GRCE);

		rec->id = cpu_to_le16(i);
		rec->shared_lce = snapshot_encode_id(s->ce.shared_lce[i] == LENS_LCE_NONE ?
					GPULENS_NONE : s->ce.shared_lce[i]);
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

u8 lens_sample_flags(const struct lens_engine_status *status)
{
	return (status->busy ? GPULENS_SAMPLE_BUSY : 0) |
	       (status->faulted ? GPULENS_SAMPLE_FAULTED : 0) |
	       (status->reload ? GPULENS_SAMPLE_RELOAD : 0) |
	       (lens_engine_get_occupant(status)->is_channel ? GPULENS_SAMPLE_BARE_CHANNEL : 0);
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

u32 lens_snapshot_encode(const struct lens_gpu *gpu, const struct lens_snapshot *s, void *records,
			 u32 room)
{
	struct snapshot_writer w = { .records = records, .room = room };
	u32 i;

	snapshot_put_topology(&w, gpu, s);
	for (i = 0; i < gpu->topo.n_engines && s->engines_read; i++)
		snapshot_put_engine_now(&w, i, &s->now[i], s->now_err[i]);
	for (i = 0; i < gpu->topo.n_runlists; i++)
		snapshot_put_runlist(&w, gpu, &s->snap[i], s->err[i]);
	return w.used;
}
