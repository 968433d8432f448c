// SPDX-License-Identifier: GPL-2.0
/*
 * The text of bars: how BAR1 and BAR2 are set up, then a line per runlist with the address of its
 * list and the offset at which each BAR maps it.
 */
#include "../include/gpulens/bar.h"
#include "format.h"

static void format_bar(struct lens_text *t, const struct lens_bars *bars, u32 i)
{
	const struct lens_bar *b = &bars->bar[i];

	lens_text_add(t, "BAR%u:       ", i + 1);
	if (bars->err[i] == -EOPNOTSUPP)
		lens_text_add(t, "none, or not published\n");
	else if (b->err)
		lens_text_add(t, "not readable\n");
	else if (!b->is_virtual)
		lens_text_add(t, "physical\n");
	else
		lens_text_add(t, "virtual, page directory 0x%012llx (%s), pages %s%s\n",
			      (unsigned long long)b->pdb,
			      lens_target_name(b->pdb_target), b->mmu->name,
			      bars->err[i] == -E2BIG ? ", too many to look at all" :
			      bars->err[i] ? ", some page tables not readable" : "");
}

/* Were all mappings of the BARs read? */
static bool format_bars_are_complete(const struct lens_bars *bars)
{
	u32 bar;

	for (bar = 0; bar < LENS_BARS; bar++)
		if (bars->err[bar] && bars->err[bar] != -EOPNOTSUPP)
			return false;
	return true;
}

void lens_format_bars(struct lens_text *t, const struct lens_bars *bars)
{
	u32 i, bar, shown;

	for (bar = 0; bar < LENS_BARS; bar++)
		format_bar(t, bars, bar);
	for (i = 0; i < bars->n; i++) {
		lens_text_add(t, "runlist %-2u 0x%012llx (%s):", bars->runlist[i],
			      (unsigned long long)bars->find[0][i].addr,
			      lens_target_name(bars->target[i]));
		for (bar = 0, shown = 0; bar < LENS_BARS; bar++) {
			const struct lens_bar_find *f = &bars->find[bar][i];

			if (!f->found)
				continue;
			lens_text_add(t, " BAR%u+0x%08llx", bar + 1,
				      (unsigned long long)f->offset);
			shown++;
		}
		if (shown)
			lens_text_add(t, "\n");
		else if (format_bars_are_complete(bars))
			lens_text_add(t, " in no BAR\n");
		else
			lens_text_add(t, " not found, not all was read\n");
	}
}
