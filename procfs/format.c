// SPDX-License-Identifier: GPL-2.0
/*
 * The text of chip, device_info, copy_topology and tpc_map.
 */
#include "format.h"
#include "../include/hw/drf.h"
#include "../include/hw/pmc.h"
#include "../include/hw/ptop.h"

const char *lens_target_name(u32 target)
{
	static const char *const names[] = { "vid", "invalid", "sys coh", "sys ncoh" };

	return names[target & 3];
}

/* Prints "Label: a, b", the parts that could not be read with this error, if there are any. */
static void format_failed_parts(struct lens_text *t, const struct lens_gpu *gpu, int ce_err,
				const char *label, int err)
{
	const char *between = label;

	if (gpu->topo.gpcs_err == err) {
		lens_text_add(t, "%sGPC fuses", between);
		between = ", ";
	}
	if (ce_err == err) {
		lens_text_add(t, "%scopy engine maps", between);
		between = ", ";
	}
	if (err == -EOPNOTSUPP && !gpu->chip->host) {
		lens_text_add(t, "%srunlist registers", between);
		between = ", ";
	}
	if (between != label)
		lens_text_add(t, "\n");
}

static const char *format_explain_entries(int err)
{
	switch (err) {
	case -EACCES:
		return "vram=off";
	case -ENXIO:
		return "system memory without a driver that maps it";
	case -EBUSY:
		return "its driver comes or goes";
	default:
		return "protected memory";
	}
}

static void format_readable(struct lens_text *t, const struct lens_gpu *gpu,
			    const struct lens_readable *r)
{
	u32 runlists = gpu->topo.n_runlists + gpu->topo.unnamed_runlists;

	if (r->no_regs)
		lens_text_add(t, "Runlist registers: not readable, %u of %u runlists\n", r->no_regs,
			      runlists);
	if (r->no_entries)
		lens_text_add(t, "Runlist entries: not readable, %s, %u of %u runlists\n",
			      format_explain_entries(r->entries_err), r->no_entries, runlists);
}

static void format_missing_engines(struct lens_text *t, const struct lens_topology *topo)
{
	if (topo->devices_err && topo->devices_err != -ENOSPC)
		lens_text_add(t, "Engines:      some may be missing, rows are not readable\n");
	if (topo->dropped_engines)
		lens_text_add(t, "Engines:      %u are missing, no room for more than %u\n",
			      topo->dropped_engines, topo->n_engines);
}

void lens_format_chip(struct lens_text *t, const struct lens_gpu *gpu, const char *where,
		      const struct lens_readable *r)
{
	int ce_err = r ? r->ce_err : gpu->topo.ce_err;

	lens_text_add(t, "Chip:         %s (%#x)\n", gpu->name, gpu->chip_id);
	lens_text_add(t, "Architecture: %s\n", gpu->chip->arch);
	lens_text_add(t, "Device:       %s\n", where);
	lens_text_add(t, "BOOT_0:       0x%08x\n", gpu->boot0);
	lens_text_add(t, "Revision:     %X%u\n", DRF_VAL(NV_PMC_BOOT_0_MAJOR_REVISION, gpu->boot0),
		      DRF_VAL(NV_PMC_BOOT_0_MINOR_REVISION, gpu->boot0));
	format_missing_engines(t, &gpu->topo);
	if (!gpu->known) {
		lens_text_add(t, "Unknown chip: only the device table is read, as of %s\n",
			      gpu->chip->name);
		return;
	}
	lens_text_add(t, "Ids:          channels and TSGs count %s\n",
		      gpu->chip->ids_per_runlist ?
		      "per runlist, write RUNLIST:ID" : "over the whole GPU");
	format_failed_parts(t, gpu, ce_err, "Unpublished:  ", -EOPNOTSUPP);
	format_failed_parts(t, gpu, ce_err, "Not readable: ", -EIO);
	if (r)
		format_readable(t, gpu, r);
	if (lens_chip_get_assumed(gpu->chip, gpu->id))
		lens_text_add(t, "Assumed:      %s (not published for this chip)\n",
			      lens_chip_get_assumed(gpu->chip, gpu->id));
	if (!gpu->topo.gpcs_err && gpu->chip->tpc_order == LENS_TPC_ORDER_WRONG)
		lens_text_add(t, "Known wrong:  logical TPC order, this chip has another\n");
}

/* Prints a number; "-" where the device table has none. */
static void format_id(struct lens_text *t, int width, int id)
{
	if (id == LENS_NONE)
		lens_text_add(t, " %*s", width, "-");
	else
		lens_text_add(t, " %*d", width, id);
}

void lens_format_device_info(struct lens_text *t, const struct lens_gpu *gpu)
{
	const struct lens_engine *e;
	char name[LENS_ENGINE_NAME];
	u32 i;

	lens_text_add(t, "%-45s %4s %4s %7s %6s %4s %5s %5s %10s %s\n", "Engine", "Type", "Inst",
		      "Runlist", "Engine", "Intr", "Reset", "Fault", "Registers", "Runlist at");
	for (i = 0; i < gpu->topo.n_engines; i++) {
		e = &gpu->topo.engines[i];
		lens_engine_format_name(gpu, e, name);
		lens_text_add(t, "%-45s 0x%02x %4u", name, e->type, e->inst);
		format_id(t, 7, e->runlist);
		format_id(t, 6, e->engine_id);
		format_id(t, 4, e->intr);
		format_id(t, 5, e->reset);
		format_id(t, 5, e->fault);
		if (e->pri_base)
			lens_text_add(t, "   0x%06x", e->pri_base);
		else
			lens_text_add(t, " %10s", "-");
		if (e->runlist_base)
			lens_text_add(t, "   0x%06x\n", e->runlist_base);
		else
			lens_text_add(t, " %10s\n", "-");
	}
	if (gpu->topo.devices_err && gpu->topo.devices_err != -ENOSPC)
		lens_text_add(t, "! rows that cannot be read: engines, runlists may be missing\n");
	if (gpu->topo.dropped_engines)
		lens_text_add(t, "! no room for %u more engines\n", gpu->topo.dropped_engines);
}

static void format_pces(struct lens_text *t, u32 mask)
{
	const char *sep = "";
	u32 i;

	for (i = 0; i < LENS_MAX_PCES; i++) {
		if (!(mask & (1U << i)))
			continue;
		lens_text_add(t, "%sPCE%02u", sep, i);
		sep = " ";
	}
}

/* The LCE whose PCEs this GRCE shares; LENS_LCE_NONE if it has its own or none. */
static u32 format_find_shared_lce(const struct lens_gpu *gpu, const struct lens_ce_map *map,
				  u32 grce)
{
	if (grce >= map->n_grces || lens_lce_find_pces(gpu, map, grce))
		return LENS_LCE_NONE;
	return map->shared_lce[grce];
}

void lens_format_copy_topology(struct lens_text *t, const struct lens_gpu *gpu,
			       const struct lens_ce_map *map)
{
	const struct lens_engine *e;
	u32 i, inst, lce, pces;

	/* Ordered by number, not by runlist. */
	for (inst = 0; inst < LENS_MAX_PCES; inst++) {
		for (i = 0; i < gpu->topo.n_engines; i++) {
			e = &gpu->topo.engines[i];
			if (e->type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE || e->inst != inst)
				continue;
			if (lens_engine_is_grce(gpu, e))
				lens_text_add(t, "GRCE%u -> ", inst);
			else
				lens_text_add(t, "LCE%02u -> ", inst);
			pces = lens_lce_find_pces(gpu, map, inst);
			lce = format_find_shared_lce(gpu, map, inst);
			if (pces) {
				format_pces(t, pces);
			} else if (lce != LENS_LCE_NONE) {
				/* A GRCE may share the PCEs of the other GRCE. */
				lens_text_add(t, lce < map->n_grces ?
					      "GRCE%u (" : "LCE%02u (", lce);
				format_pces(t, lens_lce_find_pces(gpu, map, lce));
				lens_text_add(t, ")");
			} else {
				lens_text_add(t, "none");
			}
			lens_text_add(t, "\n");
		}
	}
}

static bool format_is_tpc_of(const struct lens_tpc_places *places, u32 tpc, u32 gpc)
{
	return tpc < places->tpcs && places->gpc[tpc] == gpc;
}

static void format_hardware_tpcs(struct lens_text *t, const struct lens_tpc_places *places,
				 u32 digits)
{
	u32 gpc, bit, nibble, tpcs, tpc;
	int d;

	if (places->counted)
		lens_text_add(t, "! counted by the hardware (FECS_FS, GPC_FS): %s\n",
			      "GPCs are logical; order assumed, by turns over the GPCs");
	else
		lens_text_add(t, "! from the hardware (CWD_GPC_TPC_ID): %s\n",
			      "in the order of %smid; GPCs as the driver numbers them");
	for (gpc = 0; gpc < LENS_CWD_GPCS; gpc++) {
		for (tpcs = 0, tpc = 0; tpc < places->tpcs; tpc++)
			tpcs += format_is_tpc_of(places, tpc, gpc);
		if (!tpcs)
			continue;
		lens_text_add(t, "gpc %u: 0x", gpc);
		for (d = digits - 1; d >= 0; d--) {
			for (nibble = 0, bit = 0; bit < 4; bit++)
				if (format_is_tpc_of(places, d * 4 + bit, gpc))
					nibble |= 1U << bit;
			lens_text_add(t, "%x", nibble);
		}
		lens_text_add(t, "\n");
	}
}

void lens_format_tpc_map(struct lens_text *t, const struct lens_gpu *gpu,
			 const struct lens_tpc_places *places)
{
	const struct lens_topology *topo = &gpu->topo;
	u32 digits = (topo->num_gpcs * topo->num_tpc_per_gpc + 3) / 4;
	u32 i, first, n, bit, nibble;
	int d;

	if (places && places->tpcs) {
		format_hardware_tpcs(t, places, digits);
		return;
	}
	if (gpu->chip->tpc_order == LENS_TPC_ORDER_ASSUMED)
		lens_text_add(t, "! assumed: GPC by GPC, %s\n",
			      "which no manual publishes for this chip");
	if (gpu->chip->tpc_order == LENS_TPC_ORDER_WRONG)
		lens_text_add(t, "! known wrong: GPC by GPC, and this chip has another order\n");
	for (i = 0; i < topo->num_gpcs; i++) {
		if (topo->gpc_mask & (1U << i))
			continue;
		n = lens_gpc_count_tpcs(topo, i, &first);
		lens_text_add(t, "gpc %u: 0x", i);
		for (d = digits - 1; d >= 0; d--) {
			nibble = 0;
			for (bit = 0; bit < 4; bit++)
				if (d * 4 + bit >= first && d * 4 + bit < first + n)
					nibble |= 1U << bit;
			lens_text_add(t, "%x", nibble);
		}
		lens_text_add(t, "\n");
	}
}
