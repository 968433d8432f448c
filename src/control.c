// SPDX-License-Identifier: GPL-2.0
/*
 * Control requests: find the named channel, TSG or runlist in the topology, check it,
 * then write. The registers are those of struct lens_host_ops (host_*.c, chip/).
 *
 * Where ids are per runlist, a bare id is accepted if exactly one runlist holds it. From
 * Ampere on no register says whether a channel is bound: NV_CHRAM_CHANNEL has no such bit
 * (ampere/ga100/dev_runlist.ref.txt), and the instance block is in the runlist entry
 * (dev_ram.ref.txt, RAMRL). So a runlist holds a channel if it lists it. If none does, a
 * runlist holds a channel that is enabled, as one may stay after it was taken off the list.
 */
#include "core.h"

/* -- finding -- */

struct control_find {
	u32 id;
	bool tsg;
	bool found;
	u32 index;		/* of the entry on its runlist */
	struct lens_entry entry;
};

static int control_match_entry(struct lens_gpu *gpu, const struct lens_runlist *rl,
			       const struct lens_entry *e, int tsgid, void *arg)
{
	struct control_find *f = arg;

	if (e->is_tsg != f->tsg || e->id != f->id) {
		f->index++;
		return 0;
	}
	f->found = true;
	f->entry = *e;
	return 1;
}

static u32 control_get_id_limit(const struct lens_gpu *gpu, const struct lens_runlist *rl, bool tsg)
{
	return tsg ? gpu->chip->tsgs : rl->channels;
}

/* Set f->found if the id is on this runlist. Its words end at the limit, whatever a list says. */
static int control_find_on_runlist(struct lens_gpu *gpu, const struct lens_runlist *rl,
				   struct control_find *f)
{
	int err;

	f->found = false;
	f->index = 0;
	if (!rl->err && f->id >= control_get_id_limit(gpu, rl, f->tsg))
		return 0;
	err = lens_runlist_walk(gpu, rl, control_match_entry, f);
	return err < 0 ? err : 0;
}

int lens_runlist_find(struct lens_gpu *gpu, u32 id, const struct lens_runlist **rl)
{
	if (id >= lens_get_runlist_limit(gpu))
		return -ERANGE;
	*rl = lens_gpu_find_runlist(gpu, id);
	if (*rl)
		return (*rl)->err;
	/* It may be one whose id could not be read. */
	return gpu->topo.unnamed_runlists ? -EIO : -ENOENT;
}

/* The runlist of RUNLIST:ID. -EINVAL: ids are not per runlist. */
static int control_find_named_runlist(struct lens_gpu *gpu, const struct lens_ref *ref, bool tsg,
				      const struct lens_runlist **rl)
{
	int err;

	if (!gpu->chip->ids_per_runlist)
		return -EINVAL;
	err = lens_runlist_find(gpu, ref->runlist, rl);
	if (err)
		return err;
	return ref->id < control_get_id_limit(gpu, *rl, tsg) ? 0 : -ERANGE;
}

/* A bare id must be in range on some runlist. An unreadable runlist is an error. */
static int control_check_range(struct lens_gpu *gpu, u32 id, bool tsg)
{
	const struct lens_runlist *rl;
	u32 i;

	if (gpu->topo.unnamed_runlists)
		return -EIO;
	for (i = 0; i < gpu->topo.n_runlists; i++) {
		rl = &gpu->topo.runlists[i];
		if (rl->err)
			return rl->err;
		if (id < control_get_id_limit(gpu, rl, tsg))
			return 0;
	}
	return -ERANGE;
}

static int control_is_enabled(struct lens_gpu *gpu, const struct lens_runlist *rl,
			      struct control_find *f)
{
	struct lens_channel_state s;
	u32 w[2];
	int err;

	f->found = false;
	if (f->id >= rl->channels)
		return 0;
	err = gpu->chip->host->read_channel(gpu, rl, f->id, w);
	if (err)
		return err;
	gpu->chip->host->decode_channel(w, &s);
	f->found = s.enable;
	return 0;
}

/*
 * Ask all runlists whether they hold the id: the last that does, and their number. An
 * unreadable runlist is an error, unless two others hold the id.
 */
static int control_find_holders(struct lens_gpu *gpu, struct control_find *f,
				int (*ask)(struct lens_gpu *gpu, const struct lens_runlist *rl,
					   struct control_find *f),
			   const struct lens_runlist **holder, u32 *n)
{
	int err, first_err = 0;
	u32 i;

	*n = 0;
	for (i = 0; i < gpu->topo.n_runlists; i++) {
		err = ask(gpu, &gpu->topo.runlists[i], f);
		if (err == -ENODEV)
			return err;
		if (err && !first_err)
			first_err = err;
		if (err || !f->found)
			continue;
		*holder = &gpu->topo.runlists[i];
		gpu->holders |= 1ULL << i;
		++*n;
		/* TSG ids of the whole GPU are on one runlist only. */
		if (!gpu->chip->ids_per_runlist)
			return 0;
	}
	return *n > 1 ? 0 : first_err;
}

/* The only runlist that holds a bare id. */
static int control_find_holder(struct lens_gpu *gpu, struct control_find *f,
			       const struct lens_runlist **rl)
{
	const struct lens_runlist *holder = NULL;
	u32 n;
	int err;

	err = control_find_holders(gpu, f, control_find_on_runlist, &holder, &n);
	if (!err && !n && !f->tsg)
		err = control_find_holders(gpu, f, control_is_enabled, &holder, &n);
	if (err)
		return err;
	if (n != 1)
		return !n && f->tsg ? -ENOENT : -EINVAL;
	*rl = holder;
	return 0;
}

static int control_resolve_tsg(struct lens_gpu *gpu, const struct lens_ref *ref,
			       const struct lens_runlist **rl)
{
	struct control_find f = { .id = ref->id, .tsg = true };
	int err;

	gpu->holders = 0;
	if (ref->runlist != LENS_NONE) {
		err = control_find_named_runlist(gpu, ref, true, rl);
		if (!err)
			err = control_find_on_runlist(gpu, *rl, &f);
		return err ? err : f.found ? 0 : -ENOENT;
	}
	err = control_check_range(gpu, ref->id, true);
	return err ? err : control_find_holder(gpu, &f, rl);
}

static int control_resolve_channel(struct lens_gpu *gpu, const struct lens_ref *ref,
				   const struct lens_runlist **rl)
{
	struct control_find f = { .id = ref->id };
	int err;

	gpu->holders = 0;
	if (ref->runlist != LENS_NONE)
		return control_find_named_runlist(gpu, ref, false, rl);
	err = control_check_range(gpu, ref->id, false);
	if (err)
		return err;
	/* Channel words are of the whole GPU: any runlist serves. */
	if (!gpu->chip->ids_per_runlist) {
		*rl = &gpu->topo.runlists[0];
		return 0;
	}
	return control_find_holder(gpu, &f, rl);
}

/* -- acting -- */

static void control_report_runlist(const struct lens_gpu *gpu, const struct lens_runlist *rl,
				   int *runlist)
{
	*runlist = rl && gpu->chip->ids_per_runlist ? rl->id : LENS_NONE;
}

/* Unpublished how soon Host notices that a channel was enabled; assumed. */
#define NOTICE_US 100

/*
 * Does Host know that an enabled channel has work? If not, it has none, or Host was not told: a
 * doorbell that rang while it was disabled may be lost. A faulted one waits for its driver.
 */
static bool control_is_noticed(const struct lens_gpu *gpu, const u32 w[2])
{
	struct lens_channel_state s;

	gpu->chip->host->decode_channel(w, &s);
	return !s.enable || s.busy || s.status || s.pbdma_faulted || s.eng_faulted;
}

/*
 * A list that is committed makes Host look at each of its channels, also one that the driver has
 * submitted and that stays pending. Where none was ever submitted, there is no work.
 */
static int control_resubmit_missed(struct lens_gpu *gpu, const struct lens_runlist *rl)
{
	int err = gpu->chip->host->resubmit(gpu, rl, NULL);

	if (!err)
		gpu->io->cost.resubmits++;
	return err == -ENOENT || err == -EBUSY ? 0 : err;
}

/* The list with a channel whose id is of the whole GPU; NULL: none that can be read. */
static int control_find_list(struct lens_gpu *gpu, u32 chid, const struct lens_runlist **rl)
{
	struct control_find f = { .id = chid };
	int err;
	u32 i;

	*rl = NULL;
	for (i = 0; i < gpu->topo.n_runlists; i++) {
		err = control_find_on_runlist(gpu, &gpu->topo.runlists[i], &f);
		if (err == -ENODEV)
			return err;
		if (err || !f.found)
			continue;
		*rl = &gpu->topo.runlists[i];
		break;
	}
	return 0;
}

/* After a channel was enabled, and read as w: make certain that Host notices its work. */
static int control_notice(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid, u32 w[2])
{
	u32 waited = 0, step = 10;
	int err = 0;

	if (!gpu->chip->host->may_miss_enable)
		return 0;
	while (!control_is_noticed(gpu, w)) {
		if (waited >= NOTICE_US) {
			if (!gpu->chip->ids_per_runlist)
				err = control_find_list(gpu, chid, &rl);
			return err || !rl ? err : control_resubmit_missed(gpu, rl);
		}
		err = gpu->io->ops->wait_us(gpu->io, step);
		if (!err)
			err = gpu->chip->host->read_channel(gpu, rl, chid, w);
		if (err)
			return err;
		waited += step;
		step *= 2;
	}
	return 0;
}

int lens_channel_enable(struct lens_gpu *gpu, const struct lens_ref *ref, bool enable, int *runlist)
{
	const struct lens_runlist *rl = NULL;
	u32 w[2];
	int err;

	err = control_resolve_channel(gpu, ref, &rl);
	control_report_runlist(gpu, rl, runlist);
	if (!err)
		err = gpu->chip->host->enable_channel(gpu, rl, ref->id, enable, w);
	return err || !enable ? err : control_notice(gpu, rl, ref->id, w);
}

int lens_tsg_preempt(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	const struct lens_runlist *rl = NULL;
	int err;

	err = control_resolve_tsg(gpu, ref, &rl);
	control_report_runlist(gpu, rl, runlist);
	return err ? err : gpu->chip->host->preempt_tsg(gpu, rl, ref->id);
}

/* An entry of a list, to be checked again immediately before a write. */
struct control_place {
	struct lens_gpu *gpu;
	const struct lens_runlist *rl;
	struct lens_runlist_regs regs;	/* of the list that it is on */
	enum lens_aperture ap;
	u64 at;				/* its address */
};

/* -EBUSY: the driver has submitted another list, and may have reused the memory. */
static int control_read_again(const struct control_place *p, u32 *word0, struct lens_entry *e)
{
	struct lens_runlist_regs now;
	union {
		u64 copy[2];
		u32 words[4];
	} entry;
	int err;

	err = lens_copy_memory(p->gpu, p->ap, p->at, entry.copy, p->gpu->chip->entry_words / 2);
	if (!err)
		err = lens_runlist_read_regs(p->gpu, p->rl, &now);
	if (err)
		return err;
	*word0 = entry.words[0];
	p->gpu->chip->host->decode_entry(entry.words, e);
	return lens_regs_are_equal(&p->regs, &now) ? 0 : -EBUSY;
}

/* A time slice to write into each entry of a TSG. */
struct control_timeslice {
	struct control_place place;	/* of the walk's current entry */
	u32 id, timeout, scale;
	u32 index;
	bool found;
};

static int control_rewrite_entry(void *arg)
{
	struct control_timeslice *s = arg;
	struct control_place *p = &s->place;
	struct lens_entry e;
	u32 word0;
	int err = control_read_again(p, &word0, &e);

	if (err)
		return err;
	if (!e.is_tsg || e.id != s->id)
		return -EBUSY;
	return lens_store32(p->gpu, p->ap, p->at,
			    p->gpu->chip->host->set_timeslice(word0, s->timeout, s->scale));
}

static int control_set_timeslice(struct lens_gpu *gpu, const struct lens_runlist *rl,
				 const struct lens_entry *e, int tsgid, void *arg)
{
	struct control_timeslice *s = arg;
	struct control_place *p = &s->place;

	p->at = p->regs.base + (u64)s->index++ * gpu->chip->entry_words * 4;
	if (!e->is_tsg || e->id != s->id)
		return 0;
	s->found = true;
	/* Check and write in one stop of the machine. */
	return lens_run_exclusive_at(gpu, p->ap, p->at, control_rewrite_entry, s);
}

/* A driver may list a TSG more than once, so that it is scheduled more often. */
int lens_tsg_set_timeslice(struct lens_gpu *gpu, const struct lens_ref *ref, u32 us, int *runlist)
{
	struct control_timeslice s = { .place = { .gpu = gpu }, .id = ref->id };
	struct control_place *p = &s.place;
	int err;

	err = lens_timeslice_encode(us, &s.timeout, &s.scale);
	if (err)
		return err;
	err = control_resolve_tsg(gpu, ref, &p->rl);
	control_report_runlist(gpu, p->rl, runlist);
	if (!err)
		err = lens_runlist_read_regs(gpu, p->rl, &p->regs);
	if (!err)
		err = p->regs.pending ? -EBUSY : lens_decode_target(p->regs.target, &p->ap);
	/* The error that resubmit() would give, before anything is written. */
	if (!err && !p->regs.base)
		err = -ENOENT;
	if (!err)
		err = lens_runlist_walk(gpu, p->rl, control_set_timeslice, &s);
	/* It was found before: the driver replaced the list. */
	if (!err && !s.found)
		err = -EBUSY;
	return err ? err : gpu->chip->host->resubmit(gpu, p->rl, &p->regs);
}

/* A TSG to keep, and whether Host may have missed that one of its channels was enabled. */
struct control_keep {
	int tsg;
	bool missed;
};

static int control_keep_only_tsg(struct lens_gpu *gpu, const struct lens_runlist *rl,
				 const struct lens_entry *e, int tsgid, void *arg)
{
	const struct lens_host_ops *host = gpu->chip->host;
	struct control_keep *keep = arg;
	bool enable = tsgid == keep->tsg;
	struct lens_channel_state s;
	u32 w[2];
	int err;

	if (e->is_tsg || e->id >= rl->channels)
		return 0;
	/* Write only what differs: each write may stop the machine. */
	err = host->read_channel(gpu, rl, e->id, w);
	if (err)
		return err;
	host->decode_channel(w, &s);
	if (s.enable == enable)
		return 0;
	err = host->enable_channel(gpu, rl, e->id, enable, w);
	if (!err && enable && host->may_miss_enable && !control_is_noticed(gpu, w))
		keep->missed = true;
	/* A listed channel that the driver unbound meanwhile does not run. */
	return err == -ENOENT ? 0 : err;
}

int lens_tsg_switch_to(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist)
{
	struct control_keep keep = { .tsg = ref->id };
	const struct lens_runlist *rl = NULL;
	int err;

	err = control_resolve_tsg(gpu, ref, &rl);
	control_report_runlist(gpu, rl, runlist);
	if (!err)
		err = lens_runlist_walk(gpu, rl, control_keep_only_tsg, &keep);
	/* Not waited for: the time slice ends now in any case. */
	if (!err && keep.missed)
		err = control_resubmit_missed(gpu, rl);
	if (!err)
		err = gpu->chip->host->preempt_others(gpu, rl, keep.tsg);
	return err;
}

int lens_runlist_preempt(struct lens_gpu *gpu, u32 id)
{
	const struct lens_runlist *rl;
	int err;

	if (!gpu->chip->host->preempt_runlist)
		return -EOPNOTSUPP;
	err = lens_runlist_find(gpu, id, &rl);
	return err ? err : gpu->chip->host->preempt_runlist(gpu, rl);
}

int lens_runlist_resubmit(struct lens_gpu *gpu, u32 id)
{
	const struct lens_runlist *rl;
	int err = lens_runlist_find(gpu, id, &rl);

	return err ? err : gpu->chip->host->resubmit(gpu, rl, NULL);
}

/* -- channels and their instance blocks -- */

/* Set the instance block of a channel, as the hardware of this generation finds it. */
static int control_find_inst(struct lens_gpu *gpu, struct lens_channel *c, bool *enabled)
{
	struct control_find f = { .id = c->id };
	struct lens_channel_state s;
	u32 w[2];
	int err;

	err = gpu->chip->host->read_channel(gpu, c->rl, c->id, w);
	if (err)
		return err;
	gpu->chip->host->decode_channel(w, &s);
	*enabled = s.enable;
	if (s.pccsr) {
		c->inst_target = s.inst_target;
		c->inst = s.inst;
		return s.bound ? 0 : -ENOENT;
	}
	/* From Ampere on, the runlist entry alone has it. */
	err = lens_runlist_read_regs(gpu, c->rl, &c->regs);
	if (!err)
		err = control_find_on_runlist(gpu, c->rl, &f);
	if (err)
		return err;
	c->index = f.index;
	c->inst_target = f.entry.inst_target;
	c->inst = f.entry.inst;
	return f.found ? 0 : -ENOENT;
}

int lens_channel_find(struct lens_gpu *gpu, const struct lens_ref *ref, struct lens_channel *c,
		      bool *enabled, int *runlist)
{
	int err;

	*c = (struct lens_channel){ .id = ref->id };
	err = control_resolve_channel(gpu, ref, &c->rl);
	control_report_runlist(gpu, c->rl, runlist);
	return err ? err : control_find_inst(gpu, c, enabled);
}

struct control_same {
	struct control_place place;
	const struct lens_channel *channel;
	bool enable;
	u32 *w;			/* its state after the write */
};

static int control_enable_entry(void *arg)
{
	struct control_same *s = arg;
	const struct lens_channel *c = s->channel;
	struct lens_gpu *gpu = s->place.gpu;
	struct lens_entry e;
	u32 word0;
	int err = control_read_again(&s->place, &word0, &e);

	if (err)
		return err;
	if (e.is_tsg || e.id != c->id)
		return -EBUSY;
	if (e.inst != c->inst || e.inst_target != c->inst_target)
		return -ESTALE;
	return gpu->chip->host->enable_channel(gpu, c->rl, c->id, s->enable, s->w);
}

static int control_enable_listed(struct lens_gpu *gpu, const struct lens_channel *c, bool enable,
				 u32 w[2])
{
	struct control_same s = {
		.place = { .gpu = gpu, .rl = c->rl, .regs = c->regs,
			   .at = c->regs.base + (u64)c->index * gpu->chip->entry_words * 4 },
		.channel = c, .enable = enable, .w = w,
	};
	int err = lens_decode_target(c->regs.target, &s.place.ap);

	return err ? err : lens_run_exclusive_at(gpu, s.place.ap, s.place.at, control_enable_entry,
						 &s);
}

static int control_enable_same(struct lens_gpu *gpu, const struct lens_channel *c, bool enable,
			       u32 w[2])
{
	struct lens_channel now = *c;
	bool enabled;
	int err;

	if (gpu->chip->host->enable_same)
		return gpu->chip->host->enable_same(gpu, c, enable, w);
	err = control_enable_listed(gpu, c, enable, w);
	if (err != -EBUSY)
		return err;
	/* The driver has submitted another list since: look for the channel there. */
	err = control_find_inst(gpu, &now, &enabled);
	if (err)
		return err;
	if (now.inst != c->inst || now.inst_target != c->inst_target)
		return -ESTALE;
	return control_enable_listed(gpu, &now, enable, w);
}

int lens_channel_enable_same(struct lens_gpu *gpu, const struct lens_channel *c, bool enable)
{
	u32 w[2];
	int err = control_enable_same(gpu, c, enable, w);

	return err || !enable ? err : control_notice(gpu, c->rl, c->id, w);
}

int lens_channel_set_preemption(struct lens_gpu *gpu, const struct lens_ref *ref,
				enum lens_preemption mode, int *runlist)
{
	struct lens_channel c;
	enum lens_aperture ap;
	bool enabled;
	int err;

	if (gpu->chip->ctxsw == LENS_CTXSW_UNPUBLISHED)
		return -EOPNOTSUPP;
	err = lens_channel_find(gpu, ref, &c, &enabled, runlist);
	if (!err)
		err = lens_decode_inst_target(gpu, c.inst_target, &ap);
	return err ? err : lens_context_set_preemption(gpu, ap, c.inst, mode);
}
