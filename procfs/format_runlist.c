// SPDX-License-Identifier: GPL-2.0
/*
 * The text of runlistY: a line about the list, then a box per TSG and channel, 21 characters wide,
 * with the labels of Listing 1 of RTAS'24 and further ones. Lines that begin with "!" are remarks.
 */
#include "format.h"
#include "../include/gpulens/mmu.h"

static const char *const status_names[16] = {
	"idle", "pending", "pending, reload", "acquire", "acquire, reload", "on pbdma",
	"on pbdma+eng", "on eng", "on eng, acquire", "on eng, pending", "on pbdma, reload",
	"on pbdma+eng, reload", "on eng, reload", "on eng, pend, reload",
	"on eng, acq, reload", "undefined",
};

const char *lens_status_name(u32 status)
{
	return status_names[status & 15];
}

static void format_tsg(struct lens_text *t, const struct lens_entry *e)
{
	u64 ns = lens_timeslice_decode(e->timeout, e->scale);
	/* A multiple of 8 ns below 2^33: 32-bit division suffices. */
	u32 units = (u32)(ns >> 3);

	lens_text_add(t, e->id < 1000 ? "+---- TSG Entry %-3u---+\n" :
					"+---- TSG Entry %-4u--+\n", e->id);
	lens_text_add(t, "| Scale: %-13u|\n", e->scale);
	lens_text_add(t, "| Timeout: %-11u|\n", e->timeout);
	lens_text_add(t, "| Length: %-12u|\n", e->length);
	lens_text_add(t, "| Slice:%7u.%03uus |\n", units / 125,
		      units % 125 * 8);
	if (!e->timeout)
		lens_text_add(t, "| (0 counts as 1024ns)|\n");
	lens_text_add(t, "+---------------------+\n");
}

static void format_flag(struct lens_text *t, const char *in, const char *label, u32 value)
{
	int pad = 18 - (int)strlen(label);

	lens_text_add(t, "%s| %s:%*s%2u|\n", in, label, pad - 1, "", value);
}

static const char *format_preemption_name(u32 mode, bool compute)
{
	static const char *const gfx[] = { "WFI", "GFXP", "?", "?" };
	static const char *const cmp[] = { "WFI", "CTA", "CILP", "?" };

	return (compute ? cmp : gfx)[mode & 3];
}

static const char *format_explain_context(int err)
{
	switch (err) {
	case -ENOENT:
		return "none";
	case -EOPNOTSUPP:
		return "not published";
	}
	return "unreadable";
}

static void format_address(struct lens_text *t, const char *in, const char *label, u64 addr)
{
	lens_text_add(t, "%s| %-5s 0x%012llx|\n", in, label, (unsigned long long)addr);
}

static void format_context(struct lens_text *t, const struct lens_gpu *gpu,
			   const struct lens_context *c, const char *in)
{
	u32 n = 0;
	u64 bits;

	lens_text_add(t, "%s|= Instance Block ====|\n", in);
	if (c->err) {
		lens_text_add(t, "%s| %20s|\n", in, format_explain_context(c->err));
		return;
	}
	format_address(t, in, "PDB:", c->pdb);
	lens_text_add(t, "%s| Target:%13s|\n", in, lens_target_name(c->target));
	lens_text_add(t, "%s| Pages: %13s|\n", in, c->mmu->name);
	if (gpu->chip->ctxsw == LENS_CTXSW_VEID) {
		format_flag(t, in, "VEID", c->veid);
		for (bits = c->subcontexts; bits; bits &= bits - 1)
			n++;
		format_flag(t, in, "Subcontexts", n);
	}
	lens_text_add(t, "%s|= Context State =====|\n", in);
	if (c->image_err) {
		lens_text_add(t, "%s| %20s|\n", in, format_explain_context(c->image_err));
		return;
	}
	format_address(t, in, "VA:", c->image_va);
	lens_text_add(t, "%s| Ctx. ID:  0x%08x|\n", in, c->context_id);
	lens_text_add(t, "%s| Gfx. Preemption:%4s|\n", in,
		      format_preemption_name(c->graphics, false));
	lens_text_add(t, "%s| Cmp. Preemption:%4s|\n", in,
		      format_preemption_name(c->compute, true));
	lens_text_add(t, "%s| #WFI Saves:%9u|\n", in, c->saves_wfi);
	lens_text_add(t, "%s| #CTA Saves:%9u|\n", in, c->saves_cta);
	lens_text_add(t, "%s| #GFXP Saves:%8u|\n", in, c->saves_gfxp);
	lens_text_add(t, "%s| #CILP Saves:%8u|\n", in, c->saves_cilp);
}

static void format_channel(struct lens_text *t, const struct lens_gpu *gpu,
			   const struct lens_entry *e, const u32 *state, int err,
			   const struct lens_context *c, const char *in)
{
	struct lens_channel_state s;
	u64 inst = e->inst;
	u32 target = e->inst_target;
	bool has_target = e->has_target;

	lens_text_add(t, "%s+- Channel Info %-4u -+\n", in, e->id);
	if (err) {
		lens_text_add(t, "%s| %-20s|\n", in, err == -ERANGE ? "id beyond this chip" :
							    "state unreadable");
	} else {
		gpu->chip->host->decode_channel(state, &s);
		format_flag(t, in, "Enabled", s.enable);
		format_flag(t, in, "Next", s.next);
		format_flag(t, in, "Force CTX Reload", s.ctx_reload);
		/* Write-only in hardware; printed for scripts that expect them. */
		format_flag(t, in, "Enable set", 0);
		format_flag(t, in, "Enable clear", 0);
		format_flag(t, in, "PBDMA Faulted", s.pbdma_faulted);
		format_flag(t, in, "ENG Faulted", s.eng_faulted);
		format_flag(t, in, "Status", s.status);
		lens_text_add(t, "%s| %20s|\n", in, lens_status_name(s.status));
		format_flag(t, in, "Busy", s.busy);
		if (s.chram) {
			format_flag(t, in, "On PBDMA", s.on_pbdma);
			format_flag(t, in, "On ENG", s.on_eng);
			format_flag(t, in, "Pending", s.pending);
			format_flag(t, in, "PBDMA Busy", s.pbdma_busy);
			format_flag(t, in, "ENG Busy", s.eng_busy);
			format_flag(t, in, "Acquire Fail", s.acquire_fail);
		}
		if (s.pccsr) {
			format_flag(t, in, "Bound", s.bound);
			inst = s.inst;
			target = s.inst_target;
			has_target = true;
		}
	}
	format_flag(t, in, "Runqueue", e->runqueue);
	lens_text_add(t, "%s| Inst: 0x%012llx|\n", in,
		      (unsigned long long)inst);
	lens_text_add(t, "%s| Target:%13s|\n", in,
		      has_target ? lens_target_name(target) : "unknown");
	if (c && !err)
		format_context(t, gpu, c, in);
	lens_text_add(t, "%s+---------------------+\n", in);
}

/* What the list's registers say. */
static void format_list(struct lens_text *t, const struct lens_runlist_regs *regs)
{
	lens_text_add(t, "List: base 0x%012llx, target %s, entries %u, pending %u\n",
		      (unsigned long long)regs->base,
		      lens_target_name(regs->target), regs->length, regs->pending);
}

void lens_format_runlist(struct lens_text *t, const struct lens_gpu *gpu,
			 const struct lens_runlist_snap *snap)
{
	u32 i, left = 0, tsg = 0, want = 0;
	struct lens_entry e;

	format_list(t, &snap->regs);
	for (i = 0; i < snap->n; i++) {
		gpu->chip->host->decode_entry(&snap->entries[i * gpu->chip->entry_words], &e);
		if (e.is_tsg) {
			if (left)
				lens_text_add(t, "! TSG %u says %u channels, %u follow\n", tsg,
					      want, want - left);
			tsg = e.id;
			left = e.length;
			want = e.length;
			format_tsg(t, &e);
			if (!want)
				lens_text_add(t, "! TSG %u: a TSG without channels is not legal\n",
					      tsg);
			if (want > gpu->chip->tsg_length_max)
				lens_text_add(t, "! TSG %u: no more than %u channels are legal\n",
					      tsg, gpu->chip->tsg_length_max);
			continue;
		}
		if (!left && !gpu->chip->bare_channels)
			lens_text_add(t, "! channel %u: outside of any TSG, which is not legal\n",
				      e.id);
		format_channel(t, gpu, &e, &snap->state[2 * i], snap->err[i],
			       snap->context ? &snap->context[i] : NULL, left ? "  " : "");
		if (left)
			left--;
	}
	if (left)
		lens_text_add(t, "! TSG %u says %u channels, %u follow\n", tsg, want, want - left);
	if (snap->regs.pending)
		lens_text_add(t, "! submitted, not yet committed by the GPU\n");
	if (snap->torn)
		lens_text_add(t,
			      "! torn: the list was replaced again and again while it was read\n");
	if (snap->entries_err)
		lens_text_add(t, "! entries not readable%s\n",
			      snap->entries_err == -EACCES ? ": vram=off" :
			      snap->entries_err == -ENXIO ? ": no driver maps them" : "");
	else if (!snap->n)
		lens_text_add(t, "! empty\n");
}
