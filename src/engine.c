// SPDX-License-Identifier: GPL-2.0
/*
 * One engine: its status, and its name as in Tables II to IV of RTAS'24.
 * Numbers of types: open-gpu-doc turing/tu104/dev_top.ref.txt and hw/ptop.h.
 */
#include "core.h"
#include "../include/hw/ptop.h"

struct type_name {
	u16 type;
	const char *name;	/* followed by the instance */
	const char *unit;	/* in parentheses, with the instance; NULL: the name says all */
};

static const struct type_name names[] = {
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS, "Graphics/Compute", NULL },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVDEC, "Video Decoder", "NVDEC" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC, "Video Encoder", "NVENC" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVJPG, "JPEG Decoder", "NVJPG" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_IOCTRL, "NVLink Control", "IOCTRL" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_GSP, "GPU System Processor", "GSP" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_FLA, "Fabric Linear Address", "FLA" },
	{ NV_PTOP_DEVICE_INFO2_DEV_TYPE_ENUM_HSHUB, "High-Speed Hub", "HSHUB" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSPDEC, "Picture Decoder", "MSPDEC" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSPPP, "Post Processor", "MSPPP" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSVLD, "Variable Length Decoder", "MSVLD" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_MSENC, "Video Encoder", "MSENC" },
	{ NV_PTOP_DEVICE_INFO_TYPE_ENUM_VIC, "Video Image Compositor", "VIC" },
};

static char *put_text(char *p, const char *end, const char *s)
{
	while (*s && p < end)
		*p++ = *s++;
	return p;
}

static char *put_number(char *p, const char *end, u32 n)
{
	char digits[11];
	u32 i = sizeof(digits) - 1;

	digits[i] = 0;
	do {
		digits[--i] = '0' + n % 10;
		n /= 10;
	} while (n);
	return put_text(p, end, digits + i);
}

/* By number, or by registers where the number is not known. */
static bool same_runlist(const struct lens_engine *a, const struct lens_engine *b)
{
	if (a->runlist != LENS_NONE)
		return a->runlist == b->runlist;
	return a->runlist_base && a->runlist_base == b->runlist_base;
}

/*
 * A graphics copy engine is one of the first few LCEs and on a runlist with graphics;
 * LCE 3 of the Jetson Orin is on the second one's and is none (RTAS'24 Table III).
 * NVIDIA's driver goes by the runlist too and, from GB202 on, by a mask of the first
 * four (open-gpu-kernel-modules kernel_ce_shared.c ceIsCeGrce, gb202/dev_ce_base.h).
 */
bool lens_engine_is_grce(const struct lens_gpu *gpu, const struct lens_engine *e)
{
	const struct lens_topology *t = &gpu->topo;
	u32 i;

	if (e->type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE || e->inst >= gpu->chip->ce.grces)
		return false;
	for (i = 0; i < t->n_engines; i++)
		if (same_runlist(e, &t->engines[i]) &&
		    t->engines[i].type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS)
			return true;
	return false;
}

void lens_engine_format_name(const struct lens_gpu *gpu, const struct lens_engine *e, char *buf)
{
	const char *end = buf + LENS_ENGINE_NAME - 1;
	char *p = buf;
	u32 i, inst = e->inst, type = e->type;

	/* Kepler and Maxwell number by type what others number by instance. */
	if (type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC1) {
		type = NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC;
		inst = 1;
	}
	if (type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE) {
		if (lens_engine_is_grce(gpu, e))
			p = put_text(p, end, "[Graphics] ");
		p = put_number(put_text(p, end, "Copy Engine "), end, inst);
		p = put_text(p, end, " (");
		if (lens_engine_is_grce(gpu, e)) {
			p = put_number(put_text(p, end, "GRCE"), end, inst);
			p = put_text(p, end, "/");
		}
		p = put_text(put_number(put_text(p, end, "LCE"), end, inst), end, ")");
		goto out;
	}
	if (type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC ||
	    type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_OFA) {
		p = put_text(p, end, type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC ?
			     "Sequencer" : "Optical Flow Accelerator");
		if (inst)
			p = put_number(put_text(p, end, " "), end, inst);
		goto out;
	}
	if (type >= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0 &&
	    type <= NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY2) {
		p = put_number(put_text(p, end, "Copy Engine "), end,
			       type - NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0);
		goto out;
	}
	for (i = 0; i < LENS_ARRAY_SIZE(names); i++) {
		if (names[i].type != type)
			continue;
		p = put_number(put_text(put_text(p, end, names[i].name), end, " "), end, inst);
		if (names[i].unit) {
			p = put_text(put_text(p, end, " ("), end, names[i].unit);
			p = put_text(put_number(p, end, inst), end, ")");
		}
		goto out;
	}
	p = put_text(put_number(put_text(p, end, "Unknown (type "), end, type), end, ") ");
	p = put_number(p, end, inst);
out:
	*p = 0;
}

u32 lens_engine_get_regs(const struct lens_gpu *gpu, const struct lens_engine *e, u32 reg[2])
{
	return lens_gpu_has_host(gpu) ? gpu->chip->host->get_engine_regs(e, reg) : 0;
}

int lens_engine_read(struct lens_gpu *gpu, const struct lens_engine *e,
		     struct lens_engine_status *s)
{
	u32 reg[2], w[2] = { }, n = lens_engine_get_regs(gpu, e, reg);
	int err;

	if (!n)
		return -EOPNOTSUPP;
	err = lens_rd32(gpu, reg[0], &w[0]);
	if (err)
		return err;
	/* The second one only says which channel; without it that is unknown. */
	if (n > 1) {
		err = lens_rd32(gpu, reg[1], &w[1]);
		if (err == -ENODEV)
			return err;
		if (err)
			w[1] = 0;
	}
	gpu->chip->host->decode_engine(w, s);
	return 0;
}
