/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core's interface: a GPU, its topology, its runlists, control.
 *
 * Functions return 0 or -errno as docs/proc.md lists them: -ENODEV the GPU has
 * gone, -EIO a bad-read code or all ones where that cannot be, -ENOENT no such
 * TSG or runlist, -ERANGE id beyond the chip, -EINVAL ambiguous id, -EBUSY the
 * runlist is being replaced, -EOPNOTSUPP not on this generation, -ETIMEDOUT the
 * GPU did not answer.
 * The caller serialises calls for one GPU; nothing here allocates or locks.
 */
#ifndef _GPULENS_GPU_H_
#define _GPULENS_GPU_H_

#include "chip.h"
#include "io.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LENS_MAX_ENGINES	306	/* the two tables of GB100, which is the most of any row */
#define LENS_MAX_RUNLISTS	64
#define LENS_MAX_GPCS		32
#define LENS_MAX_PCES		32
#define LENS_MAX_GRCES		4
#define LENS_MAX_ENTRIES	0xffff	/* NV_*_LENGTH_MAX, the same on every chip */
#define LENS_NONE		(-1)

/* One device of PTOP. Ids that the table does not give are LENS_NONE. */
struct lens_engine {
	u32 type;		/* NV_PTOP_DEVICE_INFO_TYPE_ENUM_*; up to Turing 29 bits */
	u8 inst;
	u8 rleng;		/* number within its runlist, Ampere .. */
	s16 runlist;		/* runlist id */
	s16 engine_id;		/* index of ENGINE_STATUS */
	s16 intr, reset, fault;
	u32 pri_base;		/* BAR0 offset, 0: not given */
	u32 runlist_base;	/* BAR0 offset of its runlist's registers, Ampere .. */
};

struct lens_runlist {
	u16 id;
	u16 channels;		/* channel ids below this */
	u32 base;		/* BAR0 offset of RLRAM, Ampere ..; 0 before */
	u32 chram;		/* BAR0 offset of channel RAM, Ampere .. */
	u32 pbdmas;		/* set bit: PBDMA serves this runlist */
	s16 err;		/* why its registers could not be read at load, or 0 */
};

/*
 * Who copies with what. A driver rewrites it at any time (MIG, NVLink, state load):
 * open-gpu-doc turing/tu104 and ampere/ga102 dev_ce.ref.txt mark PCE2LCE_CONFIG and
 * GRCE_CONFIG RW-4A. PCE_MAP is R--4R there; no manual says so of other generations.
 */
struct lens_ce_map {
	u32 pce_map;			/* set bit: present */
	u8 lce_for_pce[LENS_MAX_PCES];	/* lce_none where the PCE serves no LCE */
	u8 n_grces;			/* the chip's; also after an error */
	u8 shared_lce[LENS_MAX_GRCES];	/* LENS_LCE_NONE where nothing is shared */
};

struct lens_topology {
	u16 n_engines, n_runlists;
	u16 unnamed_runlists;	/* beyond these: their number could not be read */
	u16 dropped_engines;	/* beyond these: there was no room for them */
	struct lens_engine engines[LENS_MAX_ENGINES];	/* by runlist, type, instance */
	struct lens_runlist runlists[LENS_MAX_RUNLISTS];	/* by id */
	u8 num_gpcs, num_tpc_per_gpc, num_ces;
	u32 gpc_mask;			/* set bit: disabled */
	u32 tpc_mask[LENS_MAX_GPCS];	/* set bit: disabled; of enabled physical GPCs */
	struct lens_ce_map ce;		/* as it was when the topology was read */
	u64 memory_bytes;		/* 0: unknown; lens_gpu_memory() says why */
	/* Why a part could not be read: -EOPNOTSUPP not published, -EIO refused by the hardware. */
	int gpcs_err, ce_err;
	/* Engines, runlists may be missing: -EIO rows not readable, -ENOSPC no room. */
	int devices_err;
};

#define LENS_LCE_NONE		0xf

/* One page of runlist words at a time is looked at outside of snapshots. */
#define LENS_SCRATCH_WORDS	512

struct lens_gpu {
	struct lens_io *io;
	const struct lens_chip *chip;
	const struct lens_chip_id *id;	/* limits of this very chip; of an unknown one: all zero */
	const char *name;		/* "GP106" */
	bool known;			/* false: only the generation is known; topology only */
	u32 boot0, chip_id;
	struct lens_topology topo;
	/* Of the last request with a bare id: a bit per place in topo.runlists that holds it. */
	u64 holders;
	u64 scratch[LENS_SCRATCH_WORDS];
};

/* -- gpu.c: from a mapped BAR0 to a known GPU -- */
int lens_gpu_identify(struct lens_gpu *gpu, struct lens_io *io);
int lens_gpu_read_topology(struct lens_gpu *gpu);
/*
 * Bytes of GPU memory, read until they are known. -EOPNOTSUPP: not published, or the chip
 * has no memory of its own; -ENODATA: the register reads 0, as before a driver ran.
 */
int lens_gpu_memory(struct lens_gpu *gpu, u64 *bytes);
/* Can runlists be read and steered, or is only the topology known? */
bool lens_gpu_has_host(const struct lens_gpu *gpu);
const struct lens_runlist *lens_gpu_runlist(const struct lens_gpu *gpu, u32 id);

/* A checked register read: -ENODEV, -EIO or 0. */
int lens_rd32(struct lens_gpu *gpu, u32 off, u32 *val);
/* Bad-read codes: registers.md a.4 (NV_PRIV_RING error words 0xbadf...., 0xbad0....). */
bool lens_is_bad_read(u32 val);

/* -- names.c: engines as the tables of RTAS'24 name them -- */
#define LENS_ENGINE_NAME 48
void lens_engine_name(const struct lens_gpu *gpu, const struct lens_engine *e, char *buf);
/* Is this LCE a graphics copy engine, that is: on a runlist with graphics? */
bool lens_engine_is_grce(const struct lens_gpu *gpu, const struct lens_engine *e);

/* -- runlist.c -- */
struct lens_runlist_regs {
	u64 base;		/* bytes */
	u8 target;		/* 0 video memory, 2 / 3 (non-)coherent system memory */
	u16 length;		/* entries */
	bool pending;		/* submitted, not yet taken up */
};

struct lens_entry {
	bool is_tsg;
	u16 id;
	/* TSG header */
	u8 scale, timeout;
	u16 length;		/* channels that follow */
	/* channel */
	u8 runqueue;
	bool has_target;	/* only entries of 16 bytes have one */
	u8 inst_target;		/* as target above; of the entry's own copy */
	u64 inst;		/* bytes, 0: the entry does not say */
};

struct lens_channel_state {
	bool enable, next, ctx_reload, pbdma_faulted, eng_faulted, busy;
	u8 status;		/* NV_PCCSR_CHANNEL_STATUS_*, derived on Ampere .. */
	/* Ampere ..: the bits that CHRAM has beyond these */
	bool chram, on_pbdma, on_eng, pending, pbdma_busy, eng_busy, acquire_fail;
	/* PCCSR chips: the instance block that hardware uses */
	bool pccsr, bound;
	u8 inst_target;
	u64 inst;
};

enum lens_engine_state {
	LENS_ENGINE_IDLE,	/* no context on it */
	LENS_ENGINE_ON,
	LENS_ENGINE_LOAD,
	LENS_ENGINE_SAVE,
	LENS_ENGINE_SWITCH,	/* asked to leave for the next one; still there */
	LENS_ENGINE_UNKNOWN,	/* a code that no manual has */
};

/* A TSG on an engine, or a channel outside of any (up to Turing). */
struct lens_occupant {
	s16 id;			/* LENS_NONE: nobody */
	s16 channel;		/* its channel; LENS_NONE where one more register would not say */
	bool is_channel;	/* id is the channel's */
};

/* What an engine is at. */
struct lens_engine_status {
	enum lens_engine_state state;
	bool busy, faulted, reload;
	struct lens_occupant now;	/* on it: during ON, SAVE and SWITCH */
	struct lens_occupant next;	/* comes: during LOAD and SWITCH */
};

/* The one that a sample names: who is loaded during LOAD, else who is there. */
static inline const struct lens_occupant *lens_engine_shown(const struct lens_engine_status *s)
{
	return s->state == LENS_ENGINE_LOAD ? &s->next : &s->now;
}

/* Up to two BAR0 offsets to read for decode_engine(), in that order; 0: none are published. */
u32 lens_engine_regs(const struct lens_gpu *gpu, const struct lens_engine *e, u32 reg[2]);
/* Read and decode them. -EOPNOTSUPP: none are published. -EIO: the first is unreadable. */
int lens_engine_read(struct lens_gpu *gpu, const struct lens_engine *e,
		     struct lens_engine_status *s);

/* timeout << scale units of 1024 ns; a timeout of 0 counts as one unit. dev_ram.ref.txt, RAMRL */
u64 lens_timeslice_ns(u32 timeout, u32 scale);
/*
 * The fields whose slice is nearest to so many microseconds, the shorter of two that
 * are as near; timeout is never 0. -ERANGE: 0, or more than the fields can hold.
 */
#define LENS_TIMESLICE_MAX_US	8556380	/* 255 << 15 units are 8556380.16 us */
int lens_timeslice_encode(u32 us, u32 *timeout, u32 *scale);

/*
 * What a channel's instance block and context image say. Read only as far as
 * this generation publishes it.
 */
struct lens_context {
	s16 err;		/* why the instance block could not be read, or 0 */
	s16 image_err;		/* the same of the context image; -ENOENT: it has none */
	u8 target;		/* of the page directory, as a TARGET field */
	u8 veid;		/* subcontext of the channel, Volta .. */
	bool is_virtual;	/* image_va is a GPU virtual address */
	u64 pdb;		/* page directory */
	u64 subcontexts;	/* set bit: that subcontext has a page directory, Volta .. */
	u64 wfi_va;		/* what the instance block names */
	u64 image_va;		/* the main image: that, or what a per-VEID header there names */
	u32 ctl;		/* CTL word, Volta .. */
	u32 graphics, compute;	/* preemption words */
	u32 saves_wfi, saves_cta, saves_gfxp, saves_cilp;
	u32 context_id, saves, restores;
	const struct lens_mmu_format *mmu;

	/* Where the next pass looks; without the window where that is system memory. */
	enum lens_aperture ap;
	u64 addr;
	bool outside;
};

/*
 * A runlist at one instant, as raw words. The caller provides room:
 * entries[cap * chip->entry_words] and state[2 * cap], err[cap].
 */
struct lens_walk_cache;

struct lens_runlist_snap {
	const struct lens_runlist *rl;
	struct lens_runlist_regs regs;
	bool has_regs;		/* regs were read, whatever came of the entries */
	s16 entries_err;	/* why the entries could not be read though regs were, or 0 */
	u32 cap;		/* entries */
	u32 n;			/* entries collected */
	bool torn;		/* the list kept moving while it was read */
	u32 *entries;
	u32 *state;
	s16 *err;		/* per entry: 0, or why its state could not be read */
	struct lens_context *context;	/* per entry; NULL: not wanted */
	struct lens_walk_cache *cache;	/* with context: room for page table words */
};

int lens_runlist_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
		      struct lens_runlist_regs *regs);

/*
 * Read what is on a runlist: begin() asks how long it is, the caller makes room
 * for regs.length entries, collect() copies and asks again; it repeats the copy
 * when the list moved meanwhile. -EAGAIN: it has grown past cap; make more room
 * and call collect() again. Where the entries cannot be read, regs stand, n is 0 and
 * entries_err is the error that collect() returns.
 */
int lens_runlist_begin(struct lens_gpu *gpu, struct lens_runlist_snap *snap);
int lens_runlist_collect(struct lens_gpu *gpu, struct lens_runlist_snap *snap);

/*
 * May err of collect() be shown as entries that cannot be read? They lie in memory that the
 * CPU is kept from, that is none, or that the user forbade.
 */
static inline bool lens_entries_unreadable(const struct lens_runlist_snap *snap, int err)
{
	return snap->has_regs && err == snap->entries_err &&
	       (err == -EIO || err == -EACCES || err == -ENXIO || err == -EOPNOTSUPP);
}

/* Fill snap->context of a collected runlist. Per-channel failures are noted there. */
int lens_contexts_collect(struct lens_gpu *gpu, struct lens_runlist_snap *snap);

/*
 * Of how many runlists the registers, or the list in memory, cannot be read now: the
 * GPU's firmware (GSP) may keep them from the CPU. Reads each runlist's registers and
 * its first entry, and the copy engines' map. -ENODEV: gone.
 */
struct lens_readable {
	u32 no_regs;
	u32 no_entries;		/* though the registers can be read */
	int entries_err;	/* why */
	int ce_err;		/* why the copy engines' map cannot be read, or 0 */
};

int lens_runlists_readable(struct lens_gpu *gpu, struct lens_readable *r);

/*
 * Call fn for each entry, a page at a time. tsgid: LENS_NONE outside a TSG.
 * fn != 0 ends the walk.
 */
typedef int (*lens_walk_fn)(struct lens_gpu *gpu, const struct lens_runlist *rl,
			    const struct lens_entry *e, int tsgid, void *arg);
int lens_runlist_walk(struct lens_gpu *gpu, const struct lens_runlist *rl, lens_walk_fn fn,
		      void *arg);

/* -- control.c -- */
/* An id as written by a user. runlist LENS_NONE: a bare id. */
struct lens_ref {
	int runlist;
	u32 id;
};

enum lens_preemption {
	LENS_PREEMPT_WFI,
	LENS_PREEMPT_CTA,
	LENS_PREEMPT_CILP,
};

int lens_channel_enable(struct lens_gpu *gpu, const struct lens_ref *ref, bool enable,
			int *runlist);
int lens_tsg_preempt(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist);
int lens_tsg_switch_to(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist);
/*
 * Give a TSG another time slice: in each of its entries on the runlist, which is then
 * submitted again. -EBUSY: the list is not taken up yet, or was replaced meanwhile.
 */
int lens_tsg_timeslice(struct lens_gpu *gpu, const struct lens_ref *ref, u32 us, int *runlist);
int lens_runlist_preempt(struct lens_gpu *gpu, u32 id);
int lens_runlist_resubmit(struct lens_gpu *gpu, u32 id);
int lens_channel_preemption(struct lens_gpu *gpu, const struct lens_ref *ref,
			    enum lens_preemption mode, int *runlist);

/* -- gpc.c -- */
/* Number of enabled TPCs, and the logical TPC numbers in a GPC: first .. first + count - 1. */
u32 lens_gpc_tpcs(const struct lens_topology *t, u32 gpc, u32 *first);

/* -- ce.c -- */
/*
 * The map as it is now. -EOPNOTSUPP: not published. After another error pce_map is that
 * of the hardware, or 0 where that could not be read, and the rest has no meaning.
 */
int lens_ce_map_read(struct lens_gpu *gpu, struct lens_ce_map *map);
/* Mask of PCEs that serve an LCE directly. */
u32 lens_lce_pces(const struct lens_gpu *gpu, const struct lens_ce_map *map, u32 lce);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_GPU_H_ */
