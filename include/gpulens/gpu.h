/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The core's interface: a GPU and its topology (topology.h), its runlists (runlist.h), control.
 *
 * Functions return 0 or -errno as docs/proc.md lists them: -ENODEV the GPU has
 * gone, -EIO a bad-read code or all ones where that cannot be, -ENOENT no such
 * TSG or runlist, -ERANGE id beyond the chip, -EINVAL ambiguous id, -EBUSY the
 * runlist is being replaced, -EOPNOTSUPP not on this generation, -ETIMEDOUT the
 * GPU did not answer. "Errors of lens_rd32()" are -ENODEV and -EIO; "errors of
 * reading memory" are those of copy() of struct lens_io_ops.
 *
 * Context, where none is stated: outside of a stop of the machine; may sleep, as
 * functions of struct lens_io_ops may. The caller serialises calls for one GPU (the
 * module by the GPU's lock, for control.c by control_lock too); nothing here
 * allocates or locks. "Pure" functions do not access the GPU: any context.
 *
 * Functions of runlist.c, inst.c and control.c need lens_gpu_has_host().
 */
#ifndef _GPULENS_GPU_H_
#define _GPULENS_GPU_H_

#include "chip.h"
#include "io.h"
#include "runlist.h"
#include "topology.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * -- control.c --
 *
 * Errors of resolving an id, before anything is written: -ERANGE, id beyond the chip or runlist;
 * -ENOENT, no such TSG or runlist; -EINVAL, a bare id of a TSG on several runlists, or of a
 * channel that no runlist or several hold (gpu->holders), or RUNLIST:ID where ids are not per
 * runlist; -EIO, a runlist's id could not be read; lens_runlist.err; errors of
 * lens_runlist_walk() and lens_rd32().
 *
 * "Errors of a request" are those of lens_rd32() and of atomic() of struct lens_io_ops.
 *
 * int *runlist is set to the runlist that was found where ids are per runlist, else to
 * LENS_NONE.
 */

/**
 * struct lens_ref - an id as written by a user
 * @runlist:	runlist id; LENS_NONE: a bare id
 * @id:		channel or TSG id
 */
struct lens_ref {
	int runlist;
	u32 id;
};

/**
 * struct lens_channel - a channel by its instance block, since drivers use ids again
 * @rl:		its runlist; any, where ids are of the whole GPU
 * @id:		channel id
 * @inst_target:	memory of the instance block, as in the register or the runlist's entry
 * @inst:	its address
 * @regs:	Ampere ..: the list that it was found on
 * @index:	Ampere ..: its entry there
 */
struct lens_channel {
	const struct lens_runlist *rl;
	u32 id;
	u32 inst_target;
	u64 inst;
	struct lens_runlist_regs regs;
	u32 index;
};

/**
 * enum lens_preemption - how the context of a channel is preempted
 * @LENS_PREEMPT_WFI:	graphics and compute wait for idle
 * @LENS_PREEMPT_CTA:	compute at the end of CTAs; graphics stays as it is
 * @LENS_PREEMPT_CILP:	compute at any instruction; graphics waits for idle
 */
enum lens_preemption {
	LENS_PREEMPT_WFI,
	LENS_PREEMPT_CTA,
	LENS_PREEMPT_CILP,
};

/**
 * lens_channel_enable() - enable or disable a channel
 * @gpu:	GPU with its topology
 * @ref:	channel
 * @enable:	enable it, else disable
 * @runlist:	set, see above
 *
 * From Volta on, Host may miss work of a channel that is enabled again: where it becomes neither
 * pending nor busy, its list is submitted again, unchanged, and waited for. Where a driver's
 * submit is pending, that serves; where no list with it can be read (up to Turing), nothing is
 * submitted.
 *
 * Return: 0; errors of resolving and of a request; -ENOENT, no instance block is bound to it
 * (up to Turing); -EIO also where it does not read back as written; -ETIMEDOUT, it is enabled, and
 * the GPU did not commit the list in time.
 */
int lens_channel_enable(struct lens_gpu *gpu, const struct lens_ref *ref, bool enable,
			int *runlist);

/**
 * lens_channel_find() - find a channel, and what tells it from a later one of the same id
 * @gpu:	GPU with its topology
 * @ref:	channel
 * @c:		filled
 * @enabled:	set
 * @runlist:	set, see above
 *
 * Ampere .. reads the runlist, also for RUNLIST:ID.
 *
 * Return: 0; errors of resolving; -ENOENT, no instance block is bound to it (up to Turing), or it
 * is not on the runlist (Ampere ..); -EIO, its state is unreadable; -ENODEV; Ampere .. also errors
 * of lens_runlist_walk().
 */
int lens_channel_find(struct lens_gpu *gpu, const struct lens_ref *ref, struct lens_channel *c,
		      bool *enabled, int *runlist);

/**
 * lens_channel_enable_same() - enable or disable a channel if it is still the one that was found
 * @gpu:	GPU with its topology
 * @c:		channel, by lens_channel_find()
 * @enable:	enable it, else disable
 *
 * Compares and writes in one stop of the machine.
 *
 * Return: as lens_channel_enable(); -ESTALE, the id has another instance block now: nothing was
 * written; Ampere .. also -ENOENT, it is on the runlist no more; -EBUSY, the list is being
 * replaced; errors of lens_runlist_walk() and of exclusive_at() of struct lens_io_ops.
 */
int lens_channel_enable_same(struct lens_gpu *gpu, const struct lens_channel *c, bool enable);

/**
 * lens_tsg_preempt() - preempt a TSG and wait for completion
 * @gpu:	GPU with its topology
 * @ref:	TSG
 * @runlist:	set, see above
 *
 * Waits for a pending preempt of the GPU's driver, and never overwrites it. Each of the two
 * waits is limited to one second.
 *
 * Return: 0; errors of resolving and of a request; -EBUSY, preempts of the driver are pending
 * each time, nothing was written; -ETIMEDOUT, the GPU did not complete the request in time.
 */
int lens_tsg_preempt(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist);

/**
 * lens_tsg_switch_to() - enable one TSG of its runlist alone and preempt the others
 * @gpu:	GPU with its topology
 * @ref:	TSG
 * @runlist:	set, see above
 *
 * Enables the TSG's listed channels, disables all others on the list, submits the list again as
 * lens_channel_enable() where Host may have missed one, then preempts: up to
 * Turing the other TSGs on the runlist's engines, and waits as lens_tsg_preempt(); Ampere .. as
 * lens_runlist_preempt(). After an error the channels that were written stay so.
 *
 * Return: as lens_tsg_preempt(), where -EBUSY means that only channels were written; errors of
 * lens_runlist_walk().
 */
int lens_tsg_switch_to(struct lens_gpu *gpu, const struct lens_ref *ref, int *runlist);

/**
 * lens_tsg_set_timeslice() - give a TSG another time slice
 * @gpu:	GPU with its topology
 * @ref:	TSG
 * @us:		time slice, 1 to LENS_TIMESLICE_MAX_US
 * @runlist:	set, see above; unchanged where @us is refused
 *
 * Writes it into each of its entries on the runlist, which is then submitted again. Each entry
 * is checked and written in one stop of the machine.
 *
 * Return: 0; -ERANGE, @us; errors of resolving, of a request and of storing to memory; -EBUSY,
 * the list is not committed yet, or was replaced meanwhile: some entries may be written already;
 * -ENOENT also where no list was submitted; -EIO also for an invalid TARGET; -ETIMEDOUT, the
 * GPU did not commit the list in time.
 */
int lens_tsg_set_timeslice(struct lens_gpu *gpu, const struct lens_ref *ref, u32 us, int *runlist);

/**
 * lens_runlist_preempt() - preempt what runs on a runlist's engines
 * @gpu:	GPU with its topology
 * @id:		runlist id
 *
 * Does not wait for completion: the manual forbids it.
 *
 * Return: 0; -EOPNOTSUPP, this generation has no such request; -ERANGE, -ENOENT, -EIO and
 * lens_runlist.err as of resolving; errors of a request; -EBUSY as lens_tsg_preempt(), Ampere ..
 */
int lens_runlist_preempt(struct lens_gpu *gpu, u32 id);

/**
 * lens_runlist_resubmit() - submit a runlist again, unchanged, and wait until it is committed
 * @gpu:	GPU with its topology
 * @id:		runlist id
 *
 * Return: 0; -ERANGE, -ENOENT, -EIO and lens_runlist.err as of resolving; -ENOENT also where no
 * list was submitted; errors of a request; -EBUSY, submits of the driver are pending each time,
 * nothing was written; -ETIMEDOUT, the GPU did not commit the list within a second; -EIO also
 * where RUNLIST_BASE could not be restored, up to Volta.
 */
int lens_runlist_resubmit(struct lens_gpu *gpu, u32 id);

/**
 * lens_runlist_find() - the runlist of an id
 * @gpu:	GPU with its topology
 * @id:		runlist id
 * @rl:		set
 *
 * Return: 0; -ERANGE, -ENOENT, -EIO and lens_runlist.err as of resolving.
 */
int lens_runlist_find(struct lens_gpu *gpu, u32 id, const struct lens_runlist **rl);

/**
 * lens_channel_set_preemption() - set how the context of a channel is preempted
 * @gpu:	GPU with its topology
 * @ref:	channel
 * @mode:	how
 * @runlist:	set, see above; unchanged where the generation has no published context image
 *
 * Checks the magic number of the context image and writes the preemption words in one stop of
 * the machine. FECS reads them when it loads the context the next time.
 *
 * Return: 0; -EOPNOTSUPP, the context image is not published or its magic number is missing;
 * errors of resolving, of reading memory and storing to it; -ENOENT also where the channel has
 * no instance block or no graphics context; -EIO also where an instance block or image is not
 * at the address given for it.
 */
int lens_channel_set_preemption(struct lens_gpu *gpu, const struct lens_ref *ref,
				enum lens_preemption mode, int *runlist);

/* -- gpc.c -- */

/**
 * lens_gpc_count_tpcs() - enabled TPCs of a GPC, and their logical numbers
 * @t:		topology with gpcs_err 0
 * @gpc:	physical GPC
 * @first:	filled: logical TPC numbers in the GPC are first .. first + count - 1
 *
 * Pure.
 *
 * Return: number of enabled TPCs; 0 for a GPC that is disabled or beyond the chip.
 */
u32 lens_gpc_count_tpcs(const struct lens_topology *t, u32 gpc, u32 *first);

/**
 * lens_gpc_has_counts() - are GPCs and TPCs known by number only?
 * @gpu:	GPU with its topology
 *
 * Pure.
 *
 * Return: true where no fuses are published and lens_gpc_read_counts() reads the numbers.
 */
bool lens_gpc_has_counts(const struct lens_gpu *gpu);

/**
 * lens_gpc_read_counts() - read the number of GPCs, and of the TPCs of each
 * @gpu:	GPU with its topology
 * @places:	filled; tpcs is 0 after an error. The order of TPCs is assumed: by turns over the
 *		logical GPCs
 *
 * The registers are the graphics engine's. They are read only while PMC_ENABLE enables it: a
 * failed read is an error of the priv ring, which interrupts the GPU's driver.
 *
 * Return: 0; -EOPNOTSUPP, lens_gpc_has_counts() is false; -ENODATA, the graphics engine is not
 * enabled, as before a driver ran; errors of lens_rd32(); -EIO also where a number is 0 or
 * greater than the chip's.
 */
int lens_gpc_read_counts(struct lens_gpu *gpu, struct lens_tpc_places *places);

/* -- cwd.c: the hardware's own order of TPCs -- */

/**
 * lens_cwd_check_context() - find out whether the table of TPCs may be read
 * @gpu:	GPU with its topology
 *
 * From Ada on, its registers are refused while no context is on the graphics engine (docs/proc.md),
 * and a refused read interrupts the driver.
 *
 * Looks again while contexts are switched, 200 times at most.
 *
 * Return: 0; -ENODATA, no context is on a graphics engine; -ENODEV.
 */
int lens_cwd_check_context(struct lens_gpu *gpu);

/**
 * lens_cwd_read_word() - read a word of CWD_GPC_TPC_ID or CWD_SM_ID
 * @gpu:	GPU, identified
 * @reg:	gpc_tpc_id or sm_id of struct lens_cwd_layout
 * @i:		index of the word
 * @v:		filled
 *
 * Return: 0; -EOPNOTSUPP, not published or no such word; errors of lens_rd32(): from Hopper on
 * -EIO while no context is active.
 */
int lens_cwd_read_word(struct lens_gpu *gpu, u32 reg, u32 i, u32 *v);

/**
 * lens_cwd_read_places() - read the hardware's own order of TPCs
 * @gpu:	GPU with its topology, after lens_cwd_check_context()
 * @places:	filled; tpcs is 0 after an error
 *
 * Return: 0; -ENODATA, the table is not one of this GPU's TPCs; gpcs_err of the topology; errors
 * of lens_cwd_read_word().
 */
int lens_cwd_read_places(struct lens_gpu *gpu, struct lens_tpc_places *places);

/* -- ce.c -- */

/**
 * lens_ce_map_read() - read the copy engines' map as it is now
 * @gpu:	GPU, identified
 * @map:	filled; after an error but -EOPNOTSUPP, pce_map is as read, or 0 if unreadable;
 *		n_grces is the chip's, and the rest has no meaning
 *
 * Return: 0; -EOPNOTSUPP, not published; errors of lens_rd32().
 */
int lens_ce_map_read(struct lens_gpu *gpu, struct lens_ce_map *map);

/**
 * lens_lce_find_pces() - PCEs that serve an LCE directly
 * @gpu:	GPU, identified
 * @map:	its map
 * @lce:	number of the LCE
 *
 * Pure.
 *
 * Return: mask of PCEs.
 */
u32 lens_lce_find_pces(const struct lens_gpu *gpu, const struct lens_ce_map *map, u32 lce);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_GPU_H_ */
