// SPDX-License-Identifier: GPL-2.0
/*
 * Host as one PFIFO unit with PCCSR channel words: Kepler .. Turing. Turing has
 * its own runlist registers (chip/tu10x.c) and all the rest from here.
 *
 * Channel words are changed by read-modify-write: a bare command word would clear
 * NEXT. The FAULTED bits are masked out, because writing 1 clears them
 * (linux-nvgpu hal/fifo/channel_gk20a_fusa.c, channel_gv11b_fusa.c).
 *
 * Source of the rest: open-gpu-doc volta/gv100/dev_fifo.ref.txt.
 */
#include "core.h"
#include "../include/hw/fifo.h"
#include "../include/hw/pmc.h"

/*
 * Numbers of channels and PBDMAs: from the chip's row; from GM20x on from CFG1, if it
 * is smaller, and CFG0 (nouveau's gm200_fifo_chid_nr).
 */
static int pfifo_read_counts(struct lens_gpu *gpu, u32 *channels, u32 *pbdmas)
{
	u32 v;
	int err;

	*channels = gpu->id->channels ? gpu->id->channels : gpu->chip->channels;
	*pbdmas = gpu->id->pbdmas ? gpu->id->pbdmas : gpu->chip->pbdmas;
	if (!gpu->chip->has_cfg)
		return 0;
	err = lens_rd32(gpu, NV_PFIFO_CFG1, &v);
	if (err)
		return err;
	if (v && v < *channels)
		*channels = v;
	err = lens_rd32(gpu, NV_PFIFO_CFG0, &v);
	if (err)
		return err;
	*pbdmas = DRF_VAL(NV_PFIFO_CFG0_NUM_PBDMA, v);
	return *pbdmas > 32 ? -EIO : 0;
}

/*
 * Refused reads interrupt a driver: none is made while Host is off, as on a card that no driver has
 * set up. Where PMC_ENABLE cannot be read, it says nothing.
 */
static int pfifo_check_enabled(struct lens_gpu *gpu)
{
	u32 v = gpu->io->ops->rd32(gpu->io, NV_PMC_ENABLE);

	return lens_is_bad_read(v) || DRF_VAL(NV_PMC_ENABLE_PFIFO, v) ? 0 : -ENODATA;
}

static void pfifo_set_error(struct lens_topology *t, int err)
{
	u32 i;

	t->host_err = err;
	for (i = 0; i < t->n_runlists; i++)
		t->runlists[i].err = err;
}

/* A runlist that a PBDMA serves exists, also without an engine (RTAS'24, Table II). */
static int pfifo_read_pbdmas(struct lens_gpu *gpu, u32 pbdmas, bool add)
{
	struct lens_topology *t = &gpu->topo;
	struct lens_runlist *rl;
	u32 v, i, j;
	int err;

	for (i = 0; i < pbdmas; i++) {
		err = lens_rd32(gpu, NV_PFIFO_PBDMA_MAP(i), &v);
		if (err)
			return err;
		v = DRF_VAL(NV_PFIFO_PBDMA_MAP_RUNLISTS, v);
		for (j = 0; j < 16 && j < lens_get_runlist_limit(gpu); j++) {
			if (!(v >> j & 1) || !(add || lens_gpu_find_runlist(gpu, j)))
				continue;
			rl = lens_add_runlist(t, j);
			if (rl)
				rl->pbdmas |= 1U << i;
		}
	}
	return 0;
}

int lens_pfifo_read_runlists(struct lens_gpu *gpu)
{
	struct lens_topology *t = &gpu->topo;
	u32 channels, pbdmas, i;
	bool again = t->host_err;
	int err;

	for (i = 0; i < t->n_engines; i++) {
		if (t->engines[i].runlist == LENS_NONE)
			continue;
		/* The field has 4 bits. Beyond the chip's runlists are other registers. */
		if ((u32)t->engines[i].runlist >= lens_get_runlist_limit(gpu)) {
			t->engines[i].runlist = LENS_NONE;
			t->devices_err = -EIO;
			continue;
		}
		if (!lens_add_runlist(t, t->engines[i].runlist))
			return -EIO;
	}
	err = pfifo_check_enabled(gpu);
	pfifo_set_error(t, err);
	if (err)
		return 0;
	err = pfifo_read_counts(gpu, &channels, &pbdmas);
	if (!err)
		err = pfifo_read_pbdmas(gpu, pbdmas, !again);
	if (err == -ENODEV)
		return err;
	/* Others may be missing, and those of the device table can be read without their PBDMAs. */
	if (err)
		t->devices_err = err;
	for (i = 0; i < t->n_runlists; i++)
		t->runlists[i].channels = channels;
	return 0;
}

static int pfifo_read_runlist_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
				   struct lens_runlist_regs *regs)
{
	u32 base, len;
	int err;

	err = lens_rd32(gpu, NV_PFIFO_ENG_RUNLIST_BASE(rl->id), &base);
	if (!err)
		err = lens_rd32(gpu, NV_PFIFO_ENG_RUNLIST(rl->id), &len);
	if (err)
		return err;
	regs->base = (u64)DRF_VAL(NV_PFIFO_ENG_RUNLIST_BASE_PTR, base)
		     << NV_PFIFO_RUNLIST_BASE_PTR_ALIGN_SHIFT;
	regs->target = DRF_VAL(NV_PFIFO_ENG_RUNLIST_BASE_TARGET, base);
	regs->length = DRF_VAL(NV_PFIFO_ENG_RUNLIST_LENGTH, len);
	regs->pending = DRF_VAL(NV_PFIFO_ENG_RUNLIST_PENDING, len);
	return 0;
}

#define PCCSR_INST_RESERVED 0x40000000U	/* bit 30 */

int lens_pccsr_read_channel(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			    u32 w[2])
{
	/*
	 * A bound channel with its instance block in system memory at 0xadf....000 reads
	 * 0xbadf....; the channel's second word shows whether its registers are readable.
	 */
	int err = lens_rd32_address(gpu, NV_PCCSR_CHANNEL_INST(chid), PCCSR_INST_RESERVED, &w[0]);

	return err ? err : lens_rd32(gpu, NV_PCCSR_CHANNEL(chid), &w[1]);
}

static bool pccsr_is_same(const struct lens_channel *c, u32 inst)
{
	struct lens_channel_state s;
	u32 w[2] = { inst, 0 };

	lens_pccsr_decode_channel(w, &s);
	return s.inst == c->inst && s.inst_target == c->inst_target;
}

static int pccsr_write_enable(void *request)
{
	struct lens_request *r = request;
	u32 v, inst;
	int err;

	err = lens_rd32(r->gpu, NV_PCCSR_CHANNEL(r->id), &v);
	if (err)
		return err;
	/* Disabled and idle, or no channel: only one with an instance block exists. */
	if (!v || r->same) {
		err = lens_rd32_address(r->gpu, NV_PCCSR_CHANNEL_INST(r->id), PCCSR_INST_RESERVED,
					&inst);
		if (err)
			return err;
		if (!DRF_VAL(NV_PCCSR_CHANNEL_INST_BIND, inst))
			return -ENOENT;
		if (r->same && !pccsr_is_same(r->same, inst))
			return -ESTALE;
	}
	v &= ~(DRF_NUM(NV_PCCSR_CHANNEL_PBDMA_FAULTED, 1) |
	       DRF_NUM(NV_PCCSR_CHANNEL_ENG_FAULTED, 1));
	v |= r->enable ?
	     DRF_NUM(NV_PCCSR_CHANNEL_ENABLE_SET, NV_PCCSR_CHANNEL_ENABLE_SET_TRUE) :
	     DRF_NUM(NV_PCCSR_CHANNEL_ENABLE_CLR, NV_PCCSR_CHANNEL_ENABLE_CLR_TRUE);
	lens_wr32(r->gpu, NV_PCCSR_CHANNEL(r->id), v);
	err = lens_rd32(r->gpu, NV_PCCSR_CHANNEL(r->id), &r->state);
	if (err)
		return err;
	return DRF_VAL(NV_PCCSR_CHANNEL_ENABLE, r->state) == r->enable ? 0 : -EIO;
}

static int pccsr_run_enable(struct lens_request *r, u32 w[2])
{
	int err = lens_run_atomic(r, pccsr_write_enable);

	w[0] = 0;
	w[1] = r->state;
	return err;
}

int lens_pccsr_enable_channel(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			      bool enable, u32 w[2])
{
	struct lens_request r = { .gpu = gpu, .rl = rl, .id = chid, .enable = enable };

	return pccsr_run_enable(&r, w);
}

int lens_pccsr_enable_same(struct lens_gpu *gpu, const struct lens_channel *c, bool enable,
			   u32 w[2])
{
	struct lens_request r = {
		.gpu = gpu, .rl = c->rl, .id = c->id, .enable = enable, .same = c,
	};

	return pccsr_run_enable(&r, w);
}

void lens_pccsr_decode_channel(const u32 w[2], struct lens_channel_state *s)
{
	memset(s, 0, sizeof(*s));
	s->pccsr = true;
	s->inst = (u64)DRF_VAL(NV_PCCSR_CHANNEL_INST_PTR, w[0])
		  << NV_PCCSR_CHANNEL_INST_PTR_ALIGN_SHIFT;
	s->inst_target = DRF_VAL(NV_PCCSR_CHANNEL_INST_TARGET, w[0]);
	s->bound = DRF_VAL(NV_PCCSR_CHANNEL_INST_BIND, w[0]);
	s->enable = DRF_VAL(NV_PCCSR_CHANNEL_ENABLE, w[1]);
	s->next = DRF_VAL(NV_PCCSR_CHANNEL_NEXT, w[1]);
	s->pbdma_faulted = DRF_VAL(NV_PCCSR_CHANNEL_PBDMA_FAULTED, w[1]);
	s->eng_faulted = DRF_VAL(NV_PCCSR_CHANNEL_ENG_FAULTED, w[1]);
	s->busy = DRF_VAL(NV_PCCSR_CHANNEL_BUSY, w[1]);
	s->status = DRF_VAL(NV_PCCSR_CHANNEL_STATUS, w[1]);
	switch (s->status) {
	case NV_PCCSR_CHANNEL_STATUS_PENDING_CTX_RELOAD:
	case NV_PCCSR_CHANNEL_STATUS_PENDING_ACQ_CTX_RELOAD:
	case NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_CTX_RELOAD:
	case NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG_CTX_RELOAD:
	case NV_PCCSR_CHANNEL_STATUS_ON_ENG_CTX_RELOAD:
	case NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_CTX_RELOAD:
	case NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_ACQ_CTX_RELOAD:
		s->ctx_reload = true;
	}
}

#define PREEMPT_PENDING DRF_NUM(NV_PFIFO_PREEMPT_PENDING, 1)

/*
 * The GPU has one such register. A pending preempt is the driver's, which polls the same
 * bit, and is not overwritten.
 */
static int pfifo_write_preempt(void *request)
{
	struct lens_request *r = request;
	u32 v;
	int err;

	err = lens_rd32(r->gpu, NV_PFIFO_PREEMPT, &v);
	if (err)
		return err;
	if (v & PREEMPT_PENDING)
		return -EBUSY;
	r->written = true;
	lens_wr32(r->gpu, NV_PFIFO_PREEMPT,
		  DRF_NUM(NV_PFIFO_PREEMPT_ID, r->id) |
		  DRF_NUM(NV_PFIFO_PREEMPT_TYPE, NV_PFIFO_PREEMPT_TYPE_TSG));
	/* The read flushes the write before the driver goes on. */
	return lens_rd32(r->gpu, NV_PFIFO_PREEMPT, &v);
}

int lens_pfifo_preempt_tsg(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid)
{
	struct lens_request r = { .gpu = gpu, .rl = rl, .id = tsgid };

	return lens_run_atomic_and_wait(&r, pfifo_write_preempt, NV_PFIFO_PREEMPT, PREEMPT_PENDING);
}

u32 lens_pfifo_get_engine_regs(const struct lens_engine *e, u32 reg[2])
{
	/* LENS_NONE is above the limit as well. */
	if ((u16)e->engine_id >= NV_PFIFO_ENGINE_STATUS__SIZE_1)
		return 0;
	reg[0] = NV_PFIFO_ENGINE_STATUS(e->engine_id);
	return 1;
}

/* One for all engines. */
u32 lens_pfifo_get_timeout_reg(const struct lens_engine *e)
{
	return NV_PFIFO_ENG_CTXSW_TIMEOUT;
}

/* For the channel of a TSG see lens_pfifo_decode_engine(). */
static void pfifo_decode_occupant(u32 id, bool is_tsg, struct lens_occupant *o)
{
	o->id = id;
	o->is_channel = !is_tsg;
	o->channel = is_tsg ? LENS_NONE : (int)id;
}

/* By CTX_STATUS. */
static const u8 pfifo_engine_states[] = {
	[NV_PFIFO_ENGINE_STATUS_CTX_STATUS_INVALID] = LENS_ENGINE_IDLE,
	[NV_PFIFO_ENGINE_STATUS_CTX_STATUS_VALID] = LENS_ENGINE_ON,
	[2] = LENS_ENGINE_UNKNOWN,
	[3] = LENS_ENGINE_UNKNOWN,
	[4] = LENS_ENGINE_UNKNOWN,
	[NV_PFIFO_ENGINE_STATUS_CTX_STATUS_CTXSW_LOAD] = LENS_ENGINE_LOAD,
	[NV_PFIFO_ENGINE_STATUS_CTX_STATUS_CTXSW_SAVE] = LENS_ENGINE_SAVE,
	[NV_PFIFO_ENGINE_STATUS_CTX_STATUS_CTXSW_SWITCH] = LENS_ENGINE_SWITCH,
};

/*
 * The channel of a TSG is in PBDMA_STATUS only: NV_PPBDMA_CHANNEL keeps the last one that was
 * loaded (dev_pbdma.ref.txt, CHID). Which of ID and NEXT_ID counts in which state: step 4b of
 * the teardown in dev_fifo.ref.txt.
 */
void lens_pfifo_decode_engine(const u32 w[2], struct lens_engine_status *s)
{
	u32 ctx = DRF_VAL(NV_PFIFO_ENGINE_STATUS_CTX_STATUS, w[0]);

	lens_engine_init_status(s, pfifo_engine_states[ctx]);
	s->busy = DRF_VAL(NV_PFIFO_ENGINE_STATUS_ENGINE, w[0]);
	s->faulted = DRF_VAL(NV_PFIFO_ENGINE_STATUS_FAULTED, w[0]);
	s->reload = DRF_VAL(NV_PFIFO_ENGINE_STATUS_ENG_RELOAD, w[0]);
	if (lens_engine_has_now(s))
		pfifo_decode_occupant(DRF_VAL(NV_PFIFO_ENGINE_STATUS_ID, w[0]),
				      DRF_VAL(NV_PFIFO_ENGINE_STATUS_ID_TYPE, w[0]), &s->now);
	if (lens_engine_has_next(s))
		pfifo_decode_occupant(DRF_VAL(NV_PFIFO_ENGINE_STATUS_NEXT_ID, w[0]),
				      DRF_VAL(NV_PFIFO_ENGINE_STATUS_NEXT_ID_TYPE, w[0]),
				      &s->next);
}

/* The TSG of o, unless it is the one to keep or was preempted already; or LENS_NONE. */
static int pfifo_find_other_tsg(const struct lens_request *r, const struct lens_occupant *o)
{
	if (o->id == LENS_NONE || o->is_channel || o->id == (int)r->id || o->id == r->preempted)
		return LENS_NONE;
	return o->id;
}

/*
 * Preempt another TSG than r->id that is on the engine or about to be loaded. During LOAD and
 * SWITCH the next TSG would run a whole time slice although its channels are disabled; during
 * SWITCH the current one has not begun to save.
 */
static int pfifo_write_preempt_other(void *request)
{
	struct lens_request *r = request;
	struct lens_request other = *r;
	struct lens_engine_status s;
	u32 w[2] = { };
	int err, id;

	r->written = false;
	r->again = false;
	err = lens_rd32(r->gpu, NV_PFIFO_ENGINE_STATUS(r->engine->engine_id), &w[0]);
	if (err)
		return err;
	lens_pfifo_decode_engine(w, &s);
	id = pfifo_find_other_tsg(r, &s.now);
	r->again = id != LENS_NONE && pfifo_find_other_tsg(r, &s.next) != LENS_NONE;
	if (id == LENS_NONE)
		id = pfifo_find_other_tsg(r, &s.next);
	if (id == LENS_NONE)
		return 0;
	other.id = id;
	other.written = false;
	err = pfifo_write_preempt(&other);
	r->written = other.written;
	if (r->written)
		r->preempted = id;
	return err;
}

int lens_pfifo_preempt_others(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid)
{
	struct lens_topology *t = &gpu->topo;
	struct lens_request r;
	u32 i, round;
	int err;

	for (i = 0; i < t->n_engines; i++) {
		if (t->engines[i].runlist != rl->id || t->engines[i].engine_id == LENS_NONE)
			continue;
		r = (struct lens_request){
			.gpu = gpu, .rl = rl, .engine = &t->engines[i], .id = tsgid,
			.preempted = LENS_NONE,
		};
		/* The TSG on the engine, then the one that was about to be loaded. */
		for (round = 0, err = 0, r.again = true; !err && r.again && round < 2; round++)
			err = lens_run_atomic_and_wait(&r, pfifo_write_preempt_other,
						       NV_PFIFO_PREEMPT, PREEMPT_PENDING);
		if (err)
			return err;
	}
	return 0;
}

/*
 * BASE and RUNLIST serve all runlists. BASE is restored for a driver that has written it and
 * not yet RUNLIST; reading it back flushes the writes.
 */
static int pfifo_write_submit(void *request)
{
	struct lens_request *r = request;
	struct lens_runlist_regs regs;
	u32 saved, back;
	int err;

	err = lens_request_read_regs(r, &regs);
	if (!err)
		err = lens_rd32(r->gpu, NV_PFIFO_RUNLIST_BASE, &saved);
	if (err)
		return err;
	r->written = true;
	lens_wr32(r->gpu, NV_PFIFO_RUNLIST_BASE,
		  DRF_NUM(NV_PFIFO_RUNLIST_BASE_PTR,
			  (u32)(regs.base >> NV_PFIFO_RUNLIST_BASE_PTR_ALIGN_SHIFT)) |
		  DRF_NUM(NV_PFIFO_RUNLIST_BASE_TARGET, regs.target));
	lens_wr32(r->gpu, NV_PFIFO_RUNLIST,
		  DRF_NUM(NV_PFIFO_RUNLIST_LENGTH, regs.length) |
		  DRF_NUM(NV_PFIFO_RUNLIST_ID, r->rl->id));
	lens_wr32(r->gpu, NV_PFIFO_RUNLIST_BASE, saved);
	err = lens_rd32(r->gpu, NV_PFIFO_RUNLIST_BASE, &back);
	if (err)
		return err;
	return back == saved ? 0 : -EIO;
}

static int pfifo_resubmit(struct lens_gpu *gpu, const struct lens_runlist *rl,
			  const struct lens_runlist_regs *expected)
{
	struct lens_request r = { .gpu = gpu, .rl = rl, .expected = expected };

	return lens_run_atomic_and_wait(&r, pfifo_write_submit, NV_PFIFO_ENG_RUNLIST(rl->id),
				    DRF_NUM(NV_PFIFO_ENG_RUNLIST_PENDING, 1));
}

/*
 * From GV100 on: one bit per runlist, set by read-modify-write. The manual forbids
 * to wait until it is clear; reading it back flushes the write.
 */
static int pfifo_write_preempt_runlist(void *request)
{
	struct lens_request *r = request;
	u32 v;
	int err;

	err = lens_rd32(r->gpu, NV_PFIFO_RUNLIST_PREEMPT, &v);
	if (err)
		return err;
	lens_wr32(r->gpu, NV_PFIFO_RUNLIST_PREEMPT, v | 1U << r->rl->id);
	return lens_rd32(r->gpu, NV_PFIFO_RUNLIST_PREEMPT, &v);
}

int lens_pfifo_preempt_runlist(struct lens_gpu *gpu, const struct lens_runlist *rl)
{
	struct lens_request r = { .gpu = gpu, .rl = rl };

	return lens_run_atomic(&r, pfifo_write_preempt_runlist);
}

const struct lens_host_ops lens_host_pfifo = {
	.read_runlists = lens_pfifo_read_runlists,
	.read_runlist_regs = pfifo_read_runlist_regs,
	.read_channel = lens_pccsr_read_channel,
	.enable_channel = lens_pccsr_enable_channel,
	.enable_same = lens_pccsr_enable_same,
	.preempt_tsg = lens_pfifo_preempt_tsg,
	.preempt_others = lens_pfifo_preempt_others,
	/* RUNLIST_PREEMPT is published from GV100 on only. */
	.resubmit = pfifo_resubmit,
	.decode_entry = lens_entry_decode_8,
	.decode_channel = lens_pccsr_decode_channel,
	.get_engine_regs = lens_pfifo_get_engine_regs,
	.get_timeout_reg = lens_pfifo_get_timeout_reg,
	.decode_engine = lens_pfifo_decode_engine,
	.set_timeslice = lens_entry_set_timeslice_8,
};

const struct lens_host_ops lens_host_pfifo_gv100 = {
	.read_runlists = lens_pfifo_read_runlists,
	.read_runlist_regs = pfifo_read_runlist_regs,
	.read_channel = lens_pccsr_read_channel,
	.enable_channel = lens_pccsr_enable_channel,
	.enable_same = lens_pccsr_enable_same,
	.may_miss_enable = true,
	.preempt_tsg = lens_pfifo_preempt_tsg,
	.preempt_others = lens_pfifo_preempt_others,
	.preempt_runlist = lens_pfifo_preempt_runlist,
	.resubmit = pfifo_resubmit,
	.decode_entry = lens_entry_decode_16,
	.decode_channel = lens_pccsr_decode_channel,
	.get_engine_regs = lens_pfifo_get_engine_regs,
	.get_timeout_reg = lens_pfifo_get_timeout_reg,
	.decode_engine = lens_pfifo_decode_engine,
	.set_timeslice = lens_entry_set_timeslice_16,
};
