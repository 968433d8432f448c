// SPDX-License-Identifier: GPL-2.0
/*
 * One engine: its status, and its name as in Tables II to IV of RTAS'24.
 * Numbers of types: open-gpu-doc turing/tu104/dev_top.ref.txt and hw/ptop.h.
 */
#include "core.h"
#include "../include/hw/ptop.h"

struct engine_type_name {
	u16 type;
	const char *name;	/* followed by the instance */
	const char *unit;	/* in parentheses, with the instance; NULL: none */
};

static const struct engine_type_name engine_type_names[] = {
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

/* A name that is being written: where it goes on, and its last byte. */
struct engine_text {
	char *at;
	const char *end;
};

static void engine_put_text(struct engine_text *t, const char *s)
{
	while (*s && t->at < t->end)
		*t->at++ = *s++;
}

/* "%s%u" */
static void engine_put_number(struct engine_text *t, const char *before, u32 n)
{
	char digits[11];
	u32 i = sizeof(digits) - 1;

	digits[i] = 0;
	do {
		digits[--i] = '0' + n % 10;
		n /= 10;
	} while (n);
	engine_put_text(t, before);
	engine_put_text(t, digits + i);
}

/* By the runlist's number, or by its registers where the number is unknown. */
static bool engine_shares_runlist(const struct lens_engine *a, const struct lens_engine *b)
{
	if (a->runlist != LENS_NONE)
		return a->runlist == b->runlist;
	return a->runlist_base && a->runlist_base == b->runlist_base;
}

/*
 * A graphics copy engine is one of the first few LCEs, on a runlist with graphics. LCE 3
 * of the Jetson Orin shares a runlist with graphics and is none (RTAS'24 Table III).
 * NVIDIA's driver uses the runlist and, from GB202 on, a mask of the first four LCEs
 * (open-gpu-kernel-modules kernel_ce_shared.c ceIsCeGrce, gb202/dev_ce_base.h).
 */
bool lens_engine_is_grce(const struct lens_gpu *gpu, const struct lens_engine *e)
{
	const struct lens_topology *t = &gpu->topo;
	u32 i;

	if (e->type != NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE || e->inst >= gpu->chip->ce.grces)
		return false;
	for (i = 0; i < t->n_engines; i++)
		if (engine_shares_runlist(e, &t->engines[i]) &&
		    t->engines[i].type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_GRAPHICS)
			return true;
	return false;
}

static void engine_put_copy_engine(struct engine_text *t, u32 inst, bool grce)
{
	engine_put_number(t, grce ? "[Graphics] Copy Engine " : "Copy Engine ", inst);
	engine_put_text(t, " (");
	if (grce)
		engine_put_number(t, "GRCE", inst);
	engine_put_number(t, grce ? "/LCE" : "LCE", inst);
	engine_put_text(t, ")");
}

static void engine_put_name(struct engine_text *t, const struct lens_gpu *gpu,
			    const struct lens_engine *e)
{
	u32 i, inst = e->inst, type = e->type;

	switch (type) {
	case NV_PTOP_DEVICE_INFO_TYPE_ENUM_LCE:
		engine_put_copy_engine(t, inst, lens_engine_is_grce(gpu, e));
		return;
	case NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC:
	case NV_PTOP_DEVICE_INFO_TYPE_ENUM_OFA:
		engine_put_text(t, type == NV_PTOP_DEVICE_INFO_TYPE_ENUM_SEC ?
				"Sequencer" : "Optical Flow Accelerator");
		if (inst)
			engine_put_number(t, " ", inst);
		return;
	case NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0 ... NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY2:
		engine_put_number(t, "Copy Engine ", type - NV_PTOP_DEVICE_INFO_TYPE_ENUM_COPY0);
		return;
	/* Kepler and Maxwell give the second encoder a type, later chips an instance. */
	case NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC1:
		type = NV_PTOP_DEVICE_INFO_TYPE_ENUM_NVENC;
		inst = 1;
		break;
	}
	for (i = 0; i < LENS_ARRAY_SIZE(engine_type_names); i++) {
		if (engine_type_names[i].type != type)
			continue;
		engine_put_text(t, engine_type_names[i].name);
		engine_put_number(t, " ", inst);
		if (engine_type_names[i].unit) {
			engine_put_text(t, " (");
			engine_put_number(t, engine_type_names[i].unit, inst);
			engine_put_text(t, ")");
		}
		return;
	}
	engine_put_number(t, "Unknown (type ", type);
	engine_put_number(t, ") ", inst);
}

void lens_engine_format_name(const struct lens_gpu *gpu, const struct lens_engine *e, char *buf)
{
	struct engine_text t = { .at = buf, .end = buf + LENS_ENGINE_NAME - 1 };

	engine_put_name(&t, gpu, e);
	*t.at = 0;
}

/* Status decoders start from here: what a state does not have is LENS_NONE. */
void lens_engine_init_status(struct lens_engine_status *s, enum lens_engine_state state)
{
	memset(s, 0, sizeof(*s));
	s->state = state;
	s->now.id = LENS_NONE;
	s->now.channel = LENS_NONE;
	s->next = s->now;
}

bool lens_engine_has_now(const struct lens_engine_status *s)
{
	return s->state == LENS_ENGINE_ON || s->state == LENS_ENGINE_SAVE ||
	       s->state == LENS_ENGINE_SWITCH;
}

bool lens_engine_has_next(const struct lens_engine_status *s)
{
	return s->state == LENS_ENGINE_LOAD || s->state == LENS_ENGINE_SWITCH;
}

u32 lens_engine_get_regs(const struct lens_gpu *gpu, const struct lens_engine *e, u32 reg[2])
{
	if (!lens_gpu_has_host(gpu) || gpu->topo.host_err)
		return 0;
	return gpu->chip->host->get_engine_regs(e, reg);
}

int lens_engine_read(struct lens_gpu *gpu, const struct lens_engine *e,
		     struct lens_engine_status *s)
{
	u32 reg[2], w[2] = { }, n = lens_engine_get_regs(gpu, e, reg);
	int err;

	if (!n)
		return gpu->topo.host_err ? gpu->topo.host_err : -EOPNOTSUPP;
	err = lens_rd32(gpu, reg[0], &w[0]);
	if (err)
		return err;
	/* The second register has the channel alone, which is unknown without it. */
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

int lens_engine_read_timeout(struct lens_gpu *gpu, const struct lens_engine *e, u32 *v)
{
	u32 off;

	if (gpu->topo.host_err)
		return gpu->topo.host_err;
	if (!lens_gpu_has_host(gpu))
		return -EOPNOTSUPP;
	off = gpu->chip->host->get_timeout_reg(e);
	return off ? lens_rd32(gpu, off, v) : -EOPNOTSUPP;
}
