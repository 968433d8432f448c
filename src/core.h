/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the core's files share among themselves. The interface for everybody
 * else is include/gpulens/gpu.h.
 */
#ifndef _LENS_CORE_H_
#define _LENS_CORE_H_

#include "../include/gpulens/gpu.h"
#include "../include/gpulens/mmu.h"
#include "../include/hw/drf.h"

/*
 * Longest wait for the GPU to act on a request. nvgpu gives a preempt 3 s
 * before it resets the engine; one second is long for a context save and
 * short for a person at a shell.
 */
#define LENS_TIMEOUT_US 1000000

/*
 * A register that holds an address, which may look like a bad-read code. It is
 * taken for one only if a bit is set that this register keeps zero.
 */
int lens_rd32_address(struct lens_gpu *gpu, u32 off, u32 reserved, u32 *val);
void lens_wr32(struct lens_gpu *gpu, u32 off, u32 val);
/* Memory, by what an aperture means on this chip: a Tegra GPU's video memory is the system's. */
int lens_copy(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u64 *dst, u32 words);
int lens_store32(struct lens_gpu *gpu, enum lens_aperture ap, u64 addr, u32 val);
/* Wait until all bits of mask read 0: 0, -ETIMEDOUT, -EIO, -ENODEV. */
int lens_poll_clear(struct lens_gpu *gpu, u32 off, u32 mask);

/* ptop.c */
int lens_ptop_v1_read(struct lens_gpu *gpu);
int lens_ptop_v2_read(struct lens_gpu *gpu);
int lens_ptop_v2_read_two_dies(struct lens_gpu *gpu);
void lens_sort_engines(struct lens_topology *t);
struct lens_runlist *lens_add_runlist(struct lens_topology *t, u32 id);

/* gpc.c, ce.c */
int lens_read_gpcs(struct lens_gpu *gpu);
int lens_read_copy_engines(struct lens_gpu *gpu);

/* gpu.c */
u32 lens_runlist_limit(const struct lens_gpu *gpu);	/* runlist ids are below this */
u64 lens_memory_bytes_gp102(struct lens_gpu *gpu);
u64 lens_memory_bytes_ga102(struct lens_gpu *gpu);

/* bar.c: the registers of each generation */
int lens_bar_block_pbus(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);
int lens_bar_block_vf(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);
int lens_bar_block_vf_wide(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);

/* entry.c: both layouts of runlist entries */
void lens_entry_decode_8(const u32 *w, struct lens_entry *e);
void lens_entry_decode_16(const u32 *w, struct lens_entry *e);
u32 lens_entry_set_timeslice_8(u32 word, u32 timeout, u32 scale);
u32 lens_entry_set_timeslice_16(u32 word, u32 timeout, u32 scale);

/* runlist.c: is it still the list that it was, taken up or not as it was? */
bool lens_runlist_same(const struct lens_runlist_regs *a, const struct lens_runlist_regs *b);

/* host_pfifo.c, host_rlram.c */
extern const struct lens_host_ops lens_host_pfifo;		/* Kepler .. Pascal */
extern const struct lens_host_ops lens_host_pfifo_gv100;	/* Volta */
extern const struct lens_host_ops lens_host_rlram;
int lens_pfifo_read_runlists(struct lens_gpu *gpu);
int lens_pccsr_channel_words(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			     u32 w[2]);
int lens_pccsr_channel_set(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			   bool enable);
void lens_pccsr_decode(const u32 w[2], struct lens_channel_state *s);
u32 lens_pfifo_engine_regs(const struct lens_engine *e, u32 reg[2]);
void lens_pfifo_decode_engine(const u32 w[2], struct lens_engine_status *s);
int lens_pfifo_preempt_tsg(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);
int lens_pfifo_preempt_runlist(struct lens_gpu *gpu, const struct lens_runlist *rl);
/* Take whatever TSG but tsgid is on the runlist's engines off them. */
int lens_pfifo_preempt_others(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);

/* inst.c: the context image of an instance block */
int lens_context_set_preemption(struct lens_gpu *gpu, enum lens_aperture ap, u64 inst,
				enum lens_preemption mode);

/* The aperture of a TARGET field (0 video memory, 2 and 3 system memory). */
int lens_target_aperture(u32 target, enum lens_aperture *ap);
/* The same of the one that leads to an instance block. */
int lens_inst_aperture(const struct lens_gpu *gpu, u32 target, enum lens_aperture *ap);

#endif /* _LENS_CORE_H_ */
