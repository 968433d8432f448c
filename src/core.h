/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations shared by the core's files. The core's interface is
 * include/gpulens/gpu.h.
 */
#ifndef _LENS_CORE_H_
#define _LENS_CORE_H_

#include "../include/gpulens/gpu.h"
#include "../include/gpulens/mmu.h"
#include "../include/hw/drf.h"
#include "../include/hw/ptop.h"

/* -- access.c -- */

/*
 * Longest wait for the GPU to complete a request. nvgpu waits 3 s for a preempt
 * before it resets the engine; one second is long for a context save.
 */
#define LENS_TIMEOUT_US 1000000

/*
 * Read a register that holds an address, which may equal a bad-read code. It counts as
 * one only if one of the reserved bits is set, which the register keeps zero.
 */
int lens_rd32_address(struct lens_gpu *gpu, u32 off, u32 reserved, u32 *val);
void lens_wr32(struct lens_gpu *gpu, u32 off, u32 val);
/* Memory access; on a Tegra, LENS_VID means system memory, too. */
int lens_copy_memory(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u64 *dst, u32 words);
int lens_store32(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 val);
/* Run fn, which reads memory at addr and stores there, without interference. */
int lens_run_exclusive_at(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr,
			  int (*fn)(void *arg), void *arg);
/* Wait until all bits of mask read 0: 0, -ETIMEDOUT, -EIO, -ENODEV. */
int lens_poll_clear(struct lens_gpu *gpu, u32 off, u32 mask);

/*
 * Devices in a device table, at most: version 1 has 64 rows; version 2 as GB100's two tables
 * say, else NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_MAX_DEVICES of the open driver's
 * ctrl2080fifo.h, which is the number of two-row records in a table's page.
 */
#define LENS_PTOP_V1_DEVICES	NV_PTOP_DEVICE_INFO__SIZE_1
#define LENS_PTOP_V2_DEVICES	256
#define LENS_PTOP_GB100_DEVICES	(2 * NV_PTOP_DEVICE_INFO_CFG_MAX_DEVICES_INIT)
static_assert(LENS_PTOP_V1_DEVICES <= LENS_MAX_ENGINES, "table of version 1");
static_assert(LENS_PTOP_V2_DEVICES <= LENS_MAX_ENGINES, "table of version 2");
static_assert(LENS_PTOP_GB100_DEVICES <= LENS_MAX_ENGINES, "tables of GB100");

/*
 * A request to a runlist: the argument of a function that checks and then writes registers
 * which the GPU's driver uses as well. It runs in one stop of the machine.
 */
struct lens_request {
	struct lens_gpu *gpu;
	const struct lens_runlist *rl;
	const struct lens_engine *engine;
	const struct lens_runlist_regs *expected;	/* replace only this list; NULL: any */
	u32 block;			/* BAR0 offset of the registers of src/submit.c */
	u32 id;				/* of a channel or TSG */
	const struct lens_channel *same;	/* only if it is this channel; NULL: any */
	bool enable;
	u32 state;			/* by fn: the channel's word after it was written */
	bool written;			/* by fn: the request was written */
	int preempted;			/* TSG whose preemption was requested, or LENS_NONE */
	bool again;			/* by fn: a second TSG was about to be loaded */
};

int lens_run_atomic(struct lens_request *r, int (*fn)(void *request));
/*
 * As lens_run_atomic(); where fn returns -EBUSY because a bit of mask is set in the register
 * at off, wait until it is clear and retry. -EBUSY: it stayed set, or was set each time.
 */
int lens_run_atomic_when_clear(struct lens_request *r, int (*fn)(void *request), u32 off, u32 mask);
/* As lens_run_atomic_when_clear(); then, if fn wrote, wait until the mask is clear again. */
int lens_run_atomic_and_wait(struct lens_request *r, int (*fn)(void *request), u32 off, u32 mask);
/* Read regs: 0; -ENOENT, no list was submitted; -EBUSY, pending or not the expected list. */
int lens_request_read_regs(const struct lens_request *r, struct lens_runlist_regs *regs);

/* ptop.c */
int lens_ptop_v1_read(struct lens_gpu *gpu);
int lens_ptop_v2_read(struct lens_gpu *gpu);
int lens_ptop_v2_read_two_dies(struct lens_gpu *gpu);

/* gpc.c, ce.c */
int lens_read_gpcs(struct lens_gpu *gpu);
int lens_read_copy_engines(struct lens_gpu *gpu);

/* topology.c */
void lens_sort_engines(struct lens_topology *t);
struct lens_runlist *lens_add_runlist(struct lens_topology *t, u32 id);
u32 lens_get_runlist_limit(const struct lens_gpu *gpu);	/* runlist ids are below this */

/* fb.c */
int lens_fb_read_size_gp102(struct lens_gpu *gpu, u64 *bytes);
int lens_fb_read_size_ga102(struct lens_gpu *gpu, u64 *bytes);

/* bar.c: the registers of each generation */
int lens_bar_read_block_pbus(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);
int lens_bar_read_block_vf(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);
int lens_bar_read_block_vf_wide(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);

/* entry.c: both layouts of runlist entries */
void lens_entry_decode_8(const u32 *w, struct lens_entry *e);
void lens_entry_decode_16(const u32 *w, struct lens_entry *e);
u32 lens_entry_set_timeslice_8(u32 word, u32 timeout, u32 scale);
u32 lens_entry_set_timeslice_16(u32 word, u32 timeout, u32 scale);

/* submit.c: a runlist's BASE, SUBMIT and INFO, of which block is the first's BAR0 offset */
int lens_submit_read_regs(struct lens_gpu *gpu, u32 block, u32 shift,
			  struct lens_runlist_regs *regs);
int lens_submit_again(struct lens_gpu *gpu, const struct lens_runlist *rl,
		      const struct lens_runlist_regs *expected, u32 block);

/* engine.c: for decoders of an engine's status; has it a context, or one that comes next? */
void lens_engine_init_status(struct lens_engine_status *s, enum lens_engine_state state);
bool lens_engine_has_now(const struct lens_engine_status *s);
bool lens_engine_has_next(const struct lens_engine_status *s);

/* host_pfifo.c, host_ga100.c */
extern const struct lens_host_ops lens_host_pfifo;		/* Kepler .. Pascal */
extern const struct lens_host_ops lens_host_pfifo_gv100;	/* Volta */
extern const struct lens_host_ops lens_host_pfifo_tu102;	/* Turing, chip/tu10x.c */
extern const struct lens_host_ops lens_host_ga100;
int lens_pfifo_read_runlists(struct lens_gpu *gpu);
int lens_pccsr_read_channel(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			    u32 w[2]);
int lens_pccsr_enable_channel(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			      bool enable, u32 w[2]);
int lens_pccsr_enable_same(struct lens_gpu *gpu, const struct lens_channel *c, bool enable,
			   u32 w[2]);
void lens_pccsr_decode_channel(const u32 w[2], struct lens_channel_state *s);
u32 lens_pfifo_get_engine_regs(const struct lens_engine *e, u32 reg[2]);
u32 lens_pfifo_get_timeout_reg(const struct lens_engine *e);
void lens_pfifo_decode_engine(const u32 w[2], struct lens_engine_status *s);
int lens_pfifo_preempt_tsg(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);
int lens_pfifo_preempt_runlist(struct lens_gpu *gpu, const struct lens_runlist *rl);
/* Preempt each TSG but tsgid on the runlist's engines. */
int lens_pfifo_preempt_others(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);

/* inst.c: the context image of an instance block */
int lens_context_set_preemption(struct lens_gpu *gpu, enum lens_aperture ap, u64 inst,
				enum lens_preemption mode);

/* The aperture of a TARGET field (0 video memory, 2 and 3 system memory). */
int lens_decode_target(u32 target, enum lens_aperture *ap);
/* As lens_decode_target(), for the TARGET of an instance block. */
int lens_decode_inst_target(const struct lens_gpu *gpu, u32 target, enum lens_aperture *ap);

#endif /* _LENS_CORE_H_ */
