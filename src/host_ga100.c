// SPDX-License-Identifier: GPL-2.0
/*
 * Host since Ampere: each runlist has its own registers (NV_RUNLIST; the device
 * table has their offset) and its own channel RAM, a state word per channel
 * (NV_CHRAM; CHANNEL_CONFIG has its offset). Channel and TSG ids are per runlist.
 *
 * A write to a channel's word is a command: bit 0 says whether the other ones
 * set or clear bits. A word that was read is never written back.
 *
 * Source: open-gpu-doc ampere/ga100/dev_runlist.ref.txt. AD102 and GH100: not
 * published; NVIDIA's open driver runs its GA100 code on them.
 */
#include "core.h"
#include "../include/hw/bus.h"
#include "../include/hw/fifo.h"
#include "../include/hw/pbdma.h"
#include "../include/hw/runlist.h"

/*
 * The device says where these registers are, and requests write there. Registers of the whole GPU
 * (PMC, PBUS, PTOP) lie below the PBDMAs or, as PRAMIN, elsewhere.
 */
#define GA100_PBDMAS_END	(LENS_PPBDMA_GA100_BASE + \
				 LENS_PPBDMA_GA100__SIZE_1 * LENS_PPBDMA_GA100_STRIDE)

static bool ga100_overlaps(u32 a, u32 a_bytes, u32 b, u32 b_bytes)
{
	return (u64)a < (u64)b + b_bytes && (u64)b < (u64)a + a_bytes;
}

static bool ga100_can_be_at(u32 off, u32 bytes)
{
	return off >= GA100_PBDMAS_END && (u64)off + bytes <= LENS_BAR0_BYTES &&
	       !ga100_overlaps(off, bytes, NV_PRAMIN_START, NV_PRAMIN_SIZE);
}

static bool ga100_has_regs(u32 base)
{
	return ga100_can_be_at(base, LENS_RUNLIST_GA100_SIZE);
}

/*
 * Is the channel RAM of a runlist over the registers of any, or that of another over it? Registers
 * have their own KiB each, also of runlists whose id or channels could not be read.
 */
static bool ga100_is_overlapped(const struct lens_topology *t, const struct lens_runlist *rl)
{
	u32 bytes = 4U * rl->channels, i;
	const struct lens_runlist *other;

	for (i = 0; i < t->n_engines; i++)
		if (ga100_overlaps(rl->chram, bytes, t->engines[i].runlist_base,
				   LENS_RUNLIST_GA100_SIZE))
			return true;
	for (i = 0; i < t->n_runlists; i++) {
		other = &t->runlists[i];
		if (other != rl &&
		    (ga100_overlaps(other->chram, 4U * other->channels, rl->chram, bytes) ||
		     ga100_overlaps(other->chram, 4U * other->channels, rl->base,
				    LENS_RUNLIST_GA100_SIZE)))
			return true;
	}
	return false;
}

/* Of those that overlap none can be trusted. */
static void ga100_refuse_overlaps(struct lens_topology *t)
{
	u32 i;

	for (i = 0; i < t->n_runlists; i++)
		if (!t->runlists[i].err && ga100_is_overlapped(t, &t->runlists[i]))
			t->runlists[i].err = -EIO;
}

/* Add the runlist by its id. After an error its id is unknown. */
static int ga100_name_runlist(struct lens_gpu *gpu, u32 base, struct lens_runlist **rl)
{
	u32 id;
	int err;

	if (!ga100_has_regs(base))
		return -EIO;
	err = lens_rd32(gpu, base + NV_RUNLIST_DOORBELL_CONFIG, &id);
	if (err)
		return err;
	id = DRF_VAL(NV_RUNLIST_DOORBELL_CONFIG_ID, id);
	/* The register has 16 bits, a doorbell 7. No two runlists have the same id. */
	if (id >= lens_get_runlist_limit(gpu) || lens_gpu_find_runlist(gpu, id))
		return -EIO;
	*rl = lens_add_runlist(&gpu->topo, id);
	if (!*rl)
		return -EIO;
	(*rl)->base = base;
	return 0;
}

static int ga100_read_runlist(struct lens_gpu *gpu, struct lens_runlist *rl)
{
	u32 chan, pbdma, i;
	int err;

	err = lens_rd32(gpu, rl->base + NV_RUNLIST_CHANNEL_CONFIG, &chan);
	if (err)
		return err;
	/* Ids in runlist entries and doorbells have 12 bits. */
	rl->channels = 1U << DRF_VAL(NV_RUNLIST_CHANNEL_CONFIG_NUM_CHANNELS_LOG2, chan);
	if (rl->channels > 4096)
		rl->channels = 4096;
	rl->chram = DRF_VAL(NV_RUNLIST_CHANNEL_CONFIG_CHRAM_BAR0_OFFSET, chan)
		    << DRF_LO(NV_RUNLIST_CHANNEL_CONFIG_CHRAM_BAR0_OFFSET);
	for (i = 0; i < NV_RUNLIST_PBDMA_CONFIG__SIZE_1; i++) {
		err = lens_rd32(gpu, rl->base + NV_RUNLIST_PBDMA_CONFIG(i), &pbdma);
		if (err)
			return err;
		if (!DRF_VAL(NV_RUNLIST_PBDMA_CONFIG_VALID, pbdma))
			continue;
		pbdma = DRF_VAL(NV_RUNLIST_PBDMA_CONFIG_PBDMA_BAR0_OFFSET, pbdma)
			<< DRF_LO(NV_RUNLIST_PBDMA_CONFIG_PBDMA_BAR0_OFFSET);
		pbdma -= LENS_PPBDMA_GA100_BASE;
		if (pbdma >= GA100_PBDMAS_END - LENS_PPBDMA_GA100_BASE ||
		    pbdma % LENS_PPBDMA_GA100_STRIDE)
			return -EIO;
		rl->pbdmas |= 1U << pbdma / LENS_PPBDMA_GA100_STRIDE;
	}
	return ga100_can_be_at(rl->chram, 4U * rl->channels) ? 0 : -EIO;
}

/*
 * Read the ids that this version of the device table lacks. They stay unknown if their
 * registers cannot be read; the only error is -ENODEV.
 */
static int ga100_read_engine(struct lens_gpu *gpu, struct lens_engine *e)
{
	u32 v;
	int err;

	/* RLENG_ID has two bits; there are three registers. */
	if (e->rleng >= NV_RUNLIST_ENGINE_STATUS1__SIZE_1 || !ga100_has_regs(e->runlist_base))
		return 0;
	err = lens_rd32(gpu, e->runlist_base + NV_RUNLIST_ENGINE_STATUS_DEBUG(e->rleng), &v);
	if (err == -ENODEV)
		return err;
	if (!err)
		e->engine_id = DRF_VAL(LENS_RUNLIST_GA10B_ENGINE_STATUS_DEBUG_ENGINE_ID, v);
	err = lens_rd32(gpu, e->runlist_base + NV_RUNLIST_ENGINE_STATUS1(e->rleng), &v);
	if (err == -ENODEV)
		return err;
	if (!err)
		e->intr = DRF_VAL(NV_RUNLIST_ENGINE_STATUS1_INTR_ID, v);
	return 0;
}

/*
 * Firmware may protect the registers of some runlists from the CPU. Each runlist has
 * its own error.
 */
static int ga100_read_runlists(struct lens_gpu *gpu)
{
	struct lens_topology *t = &gpu->topo;
	struct lens_runlist *rl;
	struct lens_engine *e;
	u32 i, j;
	int err;

	for (i = 0; i < t->n_engines; i++) {
		e = &t->engines[i];
		if (!e->runlist_base)
			continue;
		for (j = 0; j < i && t->engines[j].runlist_base != e->runlist_base; j++)
			;
		if (j == i) {
			err = ga100_name_runlist(gpu, e->runlist_base, &rl);
			if (err) {
				t->unnamed_runlists++;
			} else {
				err = ga100_read_runlist(gpu, rl);
				rl->err = err;
			}
			if (err == -ENODEV)
				return err;
		}
		err = ga100_read_engine(gpu, e);
		if (err)
			return err;
	}
	ga100_refuse_overlaps(t);
	/* All runlists have their ids now. */
	for (i = 0; i < t->n_engines; i++)
		for (j = 0; j < t->n_runlists; j++)
			if (t->engines[i].runlist_base &&
			    t->engines[i].runlist_base == t->runlists[j].base)
				t->engines[i].runlist = t->runlists[j].id;
	return 0;
}

static int ga100_read_runlist_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
				   struct lens_runlist_regs *regs)
{
	/* The address begins at bit 12 on GA100, whose bits 11:10 read 0, else at bit 10. */
	return lens_submit_read_regs(gpu, rl->base + NV_RUNLIST_SUBMIT_BASE_LO,
				     LENS_RUNLIST_GA102_BASE_SHIFT, regs);
}

static u32 ga100_get_channel_reg(const struct lens_runlist *rl, u32 chid)
{
	return rl->chram + NV_CHRAM_CHANNEL(chid);
}

static int ga100_read_channel(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			      u32 w[2])
{
	w[1] = 0;
	return lens_rd32(gpu, ga100_get_channel_reg(rl, chid), &w[0]);
}

static int ga100_enable_channel(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
				bool enable, u32 w[2])
{
	int err;

	lens_wr32(gpu, ga100_get_channel_reg(rl, chid),
		  enable ? NV_CHRAM_CHANNEL_UPDATE_ENABLE_CHANNEL :
			   NV_CHRAM_CHANNEL_UPDATE_DISABLE_CHANNEL);
	err = ga100_read_channel(gpu, rl, chid, w);
	if (err)
		return err;
	return DRF_VAL(NV_CHRAM_CHANNEL_ENABLE, w[0]) == enable ? 0 : -EIO;
}

/*
 * Channel RAM has no STATUS code. Derive that of PCCSR, so that one table of names
 * serves all chips.
 */
static u8 ga100_derive_status(const struct lens_channel_state *s)
{
	if (s->on_pbdma && s->on_eng)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_AND_ENG;
	if (s->on_pbdma)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_ON_PBDMA_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_ON_PBDMA;
	if (s->on_eng && s->acquire_fail)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_ACQ_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_ACQUIRE;
	if (s->on_eng && s->pending)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_ON_ENG_PENDING;
	if (s->on_eng)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_ON_ENG_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_ON_ENG;
	if (s->acquire_fail)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_PENDING_ACQ_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_PENDING_ACQUIRE;
	if (s->pending)
		return s->ctx_reload ? NV_PCCSR_CHANNEL_STATUS_PENDING_CTX_RELOAD :
				       NV_PCCSR_CHANNEL_STATUS_PENDING;
	return NV_PCCSR_CHANNEL_STATUS_IDLE;
}

static void ga100_decode_channel(const u32 w[2], struct lens_channel_state *s)
{
	memset(s, 0, sizeof(*s));
	s->chram = true;
	s->enable = DRF_VAL(NV_CHRAM_CHANNEL_ENABLE, w[0]);
	s->next = DRF_VAL(NV_CHRAM_CHANNEL_NEXT, w[0]);
	s->busy = DRF_VAL(NV_CHRAM_CHANNEL_BUSY, w[0]);
	s->pbdma_faulted = DRF_VAL(NV_CHRAM_CHANNEL_PBDMA_FAULTED, w[0]);
	s->eng_faulted = DRF_VAL(NV_CHRAM_CHANNEL_ENG_FAULTED, w[0]);
	s->on_pbdma = DRF_VAL(NV_CHRAM_CHANNEL_ON_PBDMA, w[0]);
	s->on_eng = DRF_VAL(NV_CHRAM_CHANNEL_ON_ENG, w[0]);
	s->pending = DRF_VAL(NV_CHRAM_CHANNEL_PENDING, w[0]);
	s->ctx_reload = DRF_VAL(NV_CHRAM_CHANNEL_CTX_RELOAD, w[0]);
	s->pbdma_busy = DRF_VAL(NV_CHRAM_CHANNEL_PBDMA_BUSY, w[0]);
	s->eng_busy = DRF_VAL(NV_CHRAM_CHANNEL_ENG_BUSY, w[0]);
	s->acquire_fail = DRF_VAL(NV_CHRAM_CHANNEL_ACQUIRE_FAIL, w[0]);
	s->status = ga100_derive_status(s);
}

/* By the engine's number within the runlist. The channel is that of runqueue 0 of two. */
static u32 ga100_get_engine_regs(const struct lens_engine *e, u32 reg[2])
{
	if (!ga100_has_regs(e->runlist_base) || e->rleng >= NV_RUNLIST_ENGINE_STATUS0__SIZE_1)
		return 0;
	reg[0] = e->runlist_base + NV_RUNLIST_ENGINE_STATUS0(e->rleng);
	reg[1] = e->runlist_base + NV_RUNLIST_ENGINE_STATUS_CHANNEL(e->rleng, 0);
	return 2;
}

static u32 ga100_get_timeout_reg(const struct lens_engine *e)
{
	if (!ga100_has_regs(e->runlist_base) || e->rleng >= NV_RUNLIST_ENGINE_STATUS0__SIZE_1)
		return 0;
	return e->runlist_base + NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG(e->rleng);
}

/* By CTX_STATUS. The codes of SAVE and LOAD are those of LOAD and SAVE up to Turing. */
static const u8 ga100_engine_states[] = {
	[NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_INVALID] = LENS_ENGINE_IDLE,
	[NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_VALID] = LENS_ENGINE_ON,
	[2] = LENS_ENGINE_UNKNOWN,
	[3] = LENS_ENGINE_UNKNOWN,
	[4] = LENS_ENGINE_UNKNOWN,
	[NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_CTXSW_SAVE] = LENS_ENGINE_SAVE,
	[NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_CTXSW_LOAD] = LENS_ENGINE_LOAD,
	[NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS_CTXSW_SWITCH] = LENS_ENGINE_SWITCH,
};

static void ga100_decode_engine(const u32 w[2], struct lens_engine_status *s)
{
	u32 ctx = DRF_VAL(NV_RUNLIST_ENGINE_STATUS0_CTX_STATUS, w[0]);

	lens_engine_init_status(s, ga100_engine_states[ctx]);
	s->busy = DRF_VAL(NV_RUNLIST_ENGINE_STATUS0_ENGINE, w[0]);
	s->faulted = DRF_VAL(NV_RUNLIST_ENGINE_STATUS0_FAULTED, w[0]);
	s->reload = DRF_VAL(NV_RUNLIST_ENGINE_STATUS0_ENG_RELOAD, w[0]);
	if (lens_engine_has_now(s)) {
		s->now.id = DRF_VAL(NV_RUNLIST_ENGINE_STATUS0_TSGID, w[0]);
		if (DRF_VAL(NV_RUNLIST_ENGINE_STATUS_CHANNEL_VALID, w[1]))
			s->now.channel = DRF_VAL(NV_RUNLIST_ENGINE_STATUS_CHANNEL_CHID, w[1]);
	}
	if (lens_engine_has_next(s)) {
		s->next.id = DRF_VAL(NV_RUNLIST_ENGINE_STATUS0_NEXT_TSGID, w[0]);
		if (DRF_VAL(NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_VALID, w[1]))
			s->next.channel = DRF_VAL(NV_RUNLIST_ENGINE_STATUS_CHANNEL_NEXT_CHID, w[1]);
	}
}

/* One register per runlist serves both kinds of preempt, one at a time. */
#define PREEMPT_PENDING (DRF_NUM(NV_RUNLIST_PREEMPT_TSG_PREEMPT_PENDING, 1) | \
			 DRF_NUM(NV_RUNLIST_PREEMPT_RUNLIST_PREEMPT_PENDING, 1))

static int ga100_write_preempt(struct lens_request *r, u32 type)
{
	u32 v;
	int err;

	err = lens_rd32(r->gpu, r->rl->base + NV_RUNLIST_PREEMPT, &v);
	if (err)
		return err;
	if (v & PREEMPT_PENDING)
		return -EBUSY;
	r->written = true;
	lens_wr32(r->gpu, r->rl->base + NV_RUNLIST_PREEMPT,
		  DRF_NUM(NV_RUNLIST_PREEMPT_ID, r->id) | DRF_NUM(NV_RUNLIST_PREEMPT_TYPE, type));
	/* The read flushes the write before the driver goes on. */
	return lens_rd32(r->gpu, r->rl->base + NV_RUNLIST_PREEMPT, &v);
}

static int ga100_write_preempt_tsg(void *request)
{
	return ga100_write_preempt(request, NV_RUNLIST_PREEMPT_TYPE_TSG);
}

static int ga100_write_preempt_runlist(void *request)
{
	return ga100_write_preempt(request, NV_RUNLIST_PREEMPT_TYPE_RUNLIST);
}

static int ga100_preempt_tsg(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid)
{
	struct lens_request r = { .gpu = gpu, .rl = rl, .id = tsgid };
	u32 preempt = rl->base + NV_RUNLIST_PREEMPT;
	int err;

	err = lens_run_atomic_when_clear(&r, ga100_write_preempt_tsg, preempt, PREEMPT_PENDING);
	if (err)
		return err;
	return lens_poll_clear(gpu, preempt, DRF_NUM(NV_RUNLIST_PREEMPT_TSG_PREEMPT_PENDING, 1));
}

/*
 * The manual forbids to wait for RUNLIST_PREEMPT_PENDING, and there is nothing else
 * to wait for: the next TSG is scheduled at once.
 */
static int ga100_preempt_runlist(struct lens_gpu *gpu, const struct lens_runlist *rl)
{
	struct lens_request r = { .gpu = gpu, .rl = rl };

	return lens_run_atomic_when_clear(&r, ga100_write_preempt_runlist,
				      rl->base + NV_RUNLIST_PREEMPT, PREEMPT_PENDING);
}

static int ga100_preempt_others(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid)
{
	return ga100_preempt_runlist(gpu, rl);
}

static int ga100_resubmit(struct lens_gpu *gpu, const struct lens_runlist *rl,
			  const struct lens_runlist_regs *expected)
{
	return lens_submit_again(gpu, rl, expected, rl->base + NV_RUNLIST_SUBMIT_BASE_LO);
}

const struct lens_host_ops lens_host_ga100 = {
	.read_runlists = ga100_read_runlists,
	.read_runlist_regs = ga100_read_runlist_regs,
	.read_channel = ga100_read_channel,
	.enable_channel = ga100_enable_channel,
	.may_miss_enable = true,
	.preempt_tsg = ga100_preempt_tsg,
	.preempt_others = ga100_preempt_others,
	.preempt_runlist = ga100_preempt_runlist,
	.resubmit = ga100_resubmit,
	.decode_entry = lens_entry_decode_16,
	.decode_channel = ga100_decode_channel,
	.get_engine_regs = ga100_get_engine_regs,
	.get_timeout_reg = ga100_get_timeout_reg,
	.decode_engine = ga100_decode_engine,
	.set_timeslice = lens_entry_set_timeslice_16,
};
