/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is on runlists and engines: entries, states, snapshots, contexts. Errors and context:
 * gpu.h.
 */
#ifndef _GPULENS_RUNLIST_H_
#define _GPULENS_RUNLIST_H_

#include "topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct lens_runlist_regs - a runlist as it was submitted last
 * @base:	byte address of its entries
 * @target:	their memory: 0 video memory, 2 / 3 (non-)coherent system memory
 * @length:	entries
 * @pending:	submitted, not yet committed
 */
struct lens_runlist_regs {
	u64 base;
	u8 target;
	u16 length;
	bool pending;
};

/**
 * lens_regs_are_equal() - compare two readings of a runlist's registers
 * @a:		one
 * @b:		the other
 *
 * Pure.
 *
 * Return: true if they are of the same list with the same pending bit.
 */
bool lens_regs_are_equal(const struct lens_runlist_regs *a, const struct lens_runlist_regs *b);

/**
 * struct lens_entry - a runlist entry, decoded: the header of a TSG or a channel
 * @is_tsg:		TSG header
 * @id:			of the TSG or channel
 * @scale:		TSG: time slice, see lens_timeslice_decode()
 * @timeout:		TSG: time slice, see lens_timeslice_decode()
 * @length:		TSG: channels that follow
 * @runqueue:		channel: its runqueue
 * @has_target:		channel: only entries of 16 bytes have @inst_target
 * @inst_target:	channel: as lens_runlist_regs.target; of the entry's own copy
 * @inst:		channel: byte address of its instance block, 0: not in the entry
 */
struct lens_entry {
	bool is_tsg;
	u16 id;
	u8 scale, timeout;
	u16 length;
	u8 runqueue;
	bool has_target;
	u8 inst_target;
	u64 inst;
};

/**
 * struct lens_group - TSG that the entries of a runlist belong to, see lens_group_add()
 * @tsgid:	TSG of the last entry; LENS_NONE: a channel outside of any TSG
 * @length:	channels that the header of the last TSG announced
 * @left:	of these, channels that did not follow yet
 *
 * { .tsgid = LENS_NONE } before the first entry.
 */
struct lens_group {
	int tsgid;
	u16 length;
	u16 left;
};

/**
 * lens_group_add() - go on to the next entry of a runlist
 * @g:	group of the entries before
 * @e:	the next entry, a TSG header or a channel
 *
 * Pure.
 */
void lens_group_add(struct lens_group *g, const struct lens_entry *e);

/**
 * struct lens_channel_state - state of a channel, decoded from its PCCSR or CHRAM words
 * @enable:		ENABLE
 * @next:		NEXT
 * @ctx_reload:		CTX_RELOAD; up to Turing from @status
 * @pbdma_faulted:	PBDMA_FAULTED
 * @eng_faulted:	ENG_FAULTED
 * @busy:		BUSY
 * @status:		NV_PCCSR_CHANNEL_STATUS_*, derived on Ampere ..
 * @chram:		Ampere ..: the six bits below, which CHRAM has beyond these, are valid
 * @on_pbdma:		ON_PBDMA
 * @on_eng:		ON_ENG
 * @pending:		PENDING
 * @pbdma_busy:		PBDMA_BUSY
 * @eng_busy:		ENG_BUSY
 * @acquire_fail:	ACQUIRE_FAIL
 * @pccsr:		PCCSR chips: the members below are valid
 * @bound:		an instance block is bound to the channel
 * @inst_target:	as lens_runlist_regs.target; of the instance block that hardware uses
 * @inst:		byte address of the instance block that hardware uses
 */
struct lens_channel_state {
	bool enable, next, ctx_reload, pbdma_faulted, eng_faulted, busy;
	u8 status;
	bool chram, on_pbdma, on_eng, pending, pbdma_busy, eng_busy, acquire_fail;
	bool pccsr, bound;
	u8 inst_target;
	u64 inst;
};

/**
 * enum lens_engine_state - what an engine does with contexts
 * @LENS_ENGINE_IDLE:		no context on it
 * @LENS_ENGINE_ON:		a context is on it
 * @LENS_ENGINE_LOAD:		a context is being loaded
 * @LENS_ENGINE_SAVE:		a context is being saved
 * @LENS_ENGINE_SWITCH:		a context is on it and is being preempted for the next one
 * @LENS_ENGINE_UNKNOWN:	a code that no manual has
 */
enum lens_engine_state {
	LENS_ENGINE_IDLE,
	LENS_ENGINE_ON,
	LENS_ENGINE_LOAD,
	LENS_ENGINE_SAVE,
	LENS_ENGINE_SWITCH,
	LENS_ENGINE_UNKNOWN,
};

/**
 * struct lens_occupant - a TSG on an engine, or a channel outside of any TSG (up to Turing)
 * @id:		of the TSG or channel; LENS_NONE: none
 * @channel:	its channel; LENS_NONE: unknown
 * @is_channel:	@id is the channel's
 */
struct lens_occupant {
	s16 id;
	s16 channel;
	bool is_channel;
};

/**
 * struct lens_engine_status - status of an engine, decoded
 * @state:	what it does with contexts
 * @busy:	ENGINE
 * @faulted:	FAULTED
 * @reload:	ENG_RELOAD
 * @now:	on the engine, during ON, SAVE and SWITCH
 * @next:	loaded or about to be, during LOAD and SWITCH
 */
struct lens_engine_status {
	enum lens_engine_state state;
	bool busy, faulted, reload;
	struct lens_occupant now;
	struct lens_occupant next;
};

/**
 * lens_engine_get_occupant() - the occupant that a sample names
 * @s:	status of an engine
 *
 * Pure.
 *
 * Return: @next during LOAD, else @now.
 */
static inline const struct lens_occupant *
lens_engine_get_occupant(const struct lens_engine_status *s)
{
	return s->state == LENS_ENGINE_LOAD ? &s->next : &s->now;
}

/**
 * lens_engine_get_regs() - registers to read for decode_engine() of struct lens_host_ops
 * @gpu:	GPU with its topology
 * @e:		engine of it
 * @reg:	filled: BAR0 offsets, in the order of decode_engine()'s words
 *
 * Pure.
 *
 * Return: number of registers, at most two; 0, none are published.
 */
u32 lens_engine_get_regs(const struct lens_gpu *gpu, const struct lens_engine *e, u32 reg[2]);

/**
 * lens_engine_read() - read and decode the status of an engine
 * @gpu:	GPU with its topology
 * @e:		engine of it
 * @s:		filled; where only the second register is unreadable, the channel is LENS_NONE
 *
 * Return: 0; -EOPNOTSUPP, no registers are published; -EIO, the first is unreadable; -ENODEV.
 */
int lens_engine_read(struct lens_gpu *gpu, const struct lens_engine *e,
		     struct lens_engine_status *s);

/**
 * lens_engine_read_timeout() - read how long a context may take to leave an engine
 * @gpu:	GPU with its topology
 * @e:		engine of it
 * @v:		filled: NV_RUNLIST_ENGINE_CTXSW_TIMEOUT_CONFIG
 *
 * Return: 0; -EOPNOTSUPP, no register is published; -ENODATA, Host is off; -EIO; -ENODEV.
 */
int lens_engine_read_timeout(struct lens_gpu *gpu, const struct lens_engine *e, u32 *v);

/**
 * lens_timeslice_decode() - length of a time slice
 * @timeout:	TIMEOUT field; 0 counts as one unit
 * @scale:	SCALE field
 *
 * dev_ram.ref.txt, RAMRL. Pure.
 *
 * Return: @timeout << @scale units of 1024 ns, in ns; 1024 if @timeout is 0.
 */
u64 lens_timeslice_decode(u32 timeout, u32 scale);

#define LENS_TIMESLICE_MAX_US	8556380	/* 255 << 15 units are 8556380.16 us */

/**
 * lens_timeslice_encode() - the fields whose slice is nearest to so many microseconds
 * @us:		1 to LENS_TIMESLICE_MAX_US; of two slices that are as near, the shorter is taken
 * @timeout:	filled, 1 to 255
 * @scale:	filled, 0 to 15
 *
 * Pure.
 *
 * Return: 0; -ERANGE, @us is 0 or more than the fields can hold.
 */
int lens_timeslice_encode(u32 us, u32 *timeout, u32 *scale);

/**
 * struct lens_context - fields of a channel's instance block and context image
 * @err:		why the instance block could not be read, or 0; -ENOENT: there is none
 * @image_err:		the same of the context image; -ENOENT: the channel has none
 * @target:		of the page directory, as a TARGET field
 * @veid:		subcontext of the channel, Volta ..
 * @is_virtual:		@image_va is a GPU virtual address
 * @pdb:		byte address of the page directory
 * @subcontexts:	set bit: that subcontext has a page directory, Volta ..
 * @wfi_va:		address that the instance block names
 * @image_va:		the main image: @wfi_va, or what a per-VEID header there names
 * @ctl:		CTL word, Volta ..
 * @graphics:		graphics preemption word
 * @compute:		compute preemption word
 * @saves_wfi:		NUM_WFI_SAVE_OPERATIONS
 * @saves_cta:		NUM_CTA_SAVE_OPERATIONS
 * @saves_gfxp:		NUM_GFXP_SAVE_OPERATIONS
 * @saves_cilp:		NUM_CILP_SAVE_OPERATIONS
 * @context_id:		CONTEXT_ID
 * @saves:		NUM_SAVE_OPERATIONS
 * @restores:		NUM_RESTORE_OPERATIONS
 * @mmu:		format of the page tables
 * @ap:			lens_contexts_collect(): memory that the next pass reads
 * @addr:		lens_contexts_collect(): byte address that the next pass reads
 * @outside:		lens_contexts_collect(): read without the window, from system memory
 *
 * Read only as far as this generation publishes it.
 */
struct lens_context {
	s16 err;
	s16 image_err;
	u8 target;
	u8 veid;
	bool is_virtual;
	u64 pdb;
	u64 subcontexts;
	u64 wfi_va;
	u64 image_va;
	u32 ctl;
	u32 graphics, compute;
	u32 saves_wfi, saves_cta, saves_gfxp, saves_cilp;
	u32 context_id, saves, restores;
	const struct lens_mmu_format *mmu;

	enum lens_aperture ap;
	u64 addr;
	bool outside;
};

struct lens_walk_cache;

/**
 * struct lens_runlist_snap - a runlist at one instant, as raw words
 * @rl:			the runlist
 * @regs:		its registers
 * @has_regs:		@regs were read, even if the entries could not be
 * @entries_err:	why the entries could not be read though @regs were, or 0
 * @cap:		room, in entries
 * @n:			entries collected
 * @torn:		the driver replaced the list each time while it was read
 * @entries:		room for @cap * chip->entry_words words, aligned to 8 bytes
 * @state:		room for 2 * @cap words: state of each channel, see decode_channel()
 * @err:		room for @cap: 0, or why the state of that entry could not be read:
 *			-ERANGE its id is beyond the runlist's, or errors of lens_rd32()
 * @context:		room for @cap, for lens_contexts_collect(); NULL: not wanted
 * @cache:		with @context: room for page table words
 *
 * The caller provides the room and sets @rl and @cap.
 */
struct lens_runlist_snap {
	const struct lens_runlist *rl;
	struct lens_runlist_regs regs;
	bool has_regs;
	s16 entries_err;
	u32 cap;
	u32 n;
	bool torn;
	u32 *entries;
	u32 *state;
	s16 *err;
	struct lens_context *context;
	struct lens_walk_cache *cache;
};

/**
 * lens_runlist_read_regs() - read a runlist's registers
 * @gpu:	GPU with its topology
 * @rl:		runlist of it
 * @regs:	filled; zero after an error
 *
 * Context: as lens_rd32().
 *
 * Return: 0; @rl->err, its registers could not be read at load; errors of lens_rd32().
 */
int lens_runlist_read_regs(struct lens_gpu *gpu, const struct lens_runlist *rl,
			   struct lens_runlist_regs *regs);

/**
 * lens_runlist_begin() - begin a snapshot: read how long the runlist is
 * @gpu:	GPU with its topology
 * @snap:	regs and has_regs are filled, n, torn and entries_err set to zero
 *
 * The caller then allocates room for regs.length entries and calls lens_runlist_collect().
 *
 * Return: as lens_runlist_read_regs().
 */
int lens_runlist_begin(struct lens_gpu *gpu, struct lens_runlist_snap *snap);

/**
 * lens_runlist_collect() - read what is on a runlist
 * @gpu:	GPU with its topology
 * @snap:	begun by lens_runlist_begin(), with room; filled but for context
 *
 * Copies the entries and reads the registers again; repeats the copy if they changed, and sets
 * torn after four copies. Then reads the state of each channel.
 *
 * Return: 0; -EAGAIN, the list has more than cap entries: call it again with room for
 * regs.length; entries_err, the entries cannot be read (errors of reading memory; -EIO: a code of
 * failed reads or an invalid TARGET), regs stand and n is 0; errors of lens_runlist_read_regs().
 */
int lens_runlist_collect(struct lens_gpu *gpu, struct lens_runlist_snap *snap);

/**
 * lens_entries_are_unreadable() - does an error mean that the entries cannot be read?
 * @snap:	snapshot
 * @err:	what lens_runlist_collect() returned for it
 *
 * Pure.
 *
 * Return: true if the entries are in memory that the CPU cannot read, that does not exist, or
 * that the user excluded.
 */
static inline bool lens_entries_are_unreadable(const struct lens_runlist_snap *snap, int err)
{
	return snap->has_regs && err == snap->entries_err &&
	       (err == -EIO || err == -EACCES || err == -ENXIO || err == -EOPNOTSUPP);
}

/**
 * lens_contexts_collect() - fill the contexts of a collected runlist
 * @gpu:	GPU with its topology
 * @snap:	collected by lens_runlist_collect(), with context and cache; context is filled
 *
 * Errors of a channel are in err and image_err of its context: errors of reading memory, and of
 * lens_mmu_translate() for the image (-EFAULT as -EIO); -EIO, an invalid TARGET; -ENOENT, there
 * is none; -EOPNOTSUPP, the image's layout is not published or its magic number is missing.
 *
 * Return: 0; -ETIMEDOUT, LENS_EMPTY_STOPS stops of the machine without progress; errors of
 * exclusive() of struct lens_io_ops.
 */
int lens_contexts_collect(struct lens_gpu *gpu, struct lens_runlist_snap *snap);

/**
 * struct lens_readable - number of runlists that cannot be read now
 * @no_regs:		runlists whose registers cannot be read
 * @no_entries:		runlists whose registers can be read but not the list
 * @entries_err:	error of the last of @no_entries, or 0
 * @ce_err:		error of reading the copy engines' map, or 0
 */
struct lens_readable {
	u32 no_regs;
	u32 no_entries;
	int entries_err;
	int ce_err;
};

/**
 * lens_check_readable() - find out which runlists can be read now
 * @gpu:	GPU with its topology
 * @r:		filled
 *
 * The GPU's firmware (GSP) may protect registers, or the list in memory, from the CPU. Reads each
 * runlist's registers and its first entry, and the copy engines' map. Uses gpu->scratch.
 *
 * Return: 0; -ENODEV, the GPU is gone.
 */
int lens_check_readable(struct lens_gpu *gpu, struct lens_readable *r);

/**
 * typedef lens_walk_fn - called for a runlist entry
 * @gpu:	GPU
 * @rl:		the runlist
 * @e:		the entry
 * @tsgid:	TSG that the entry is in; LENS_NONE outside of a TSG
 * @arg:	the caller's
 *
 * Must not use gpu->scratch.
 *
 * Return: 0 to go on; else lens_runlist_walk() ends and returns it.
 */
typedef int (*lens_walk_fn)(struct lens_gpu *gpu, const struct lens_runlist *rl,
			    const struct lens_entry *e, int tsgid, void *arg);

/**
 * lens_runlist_walk() - call a function for each entry of a runlist, reading a page at a time
 * @gpu:	GPU with its topology
 * @rl:		runlist of it
 * @fn:		called for each entry, outside of a stop of the machine
 * @arg:	passed to @fn
 *
 * Uses gpu->scratch. The list may change between pages.
 *
 * Return: 0; what @fn returned; errors of lens_runlist_read_regs() and of reading memory; -EIO, a
 * code of failed reads or an invalid TARGET.
 */
int lens_runlist_walk(struct lens_gpu *gpu, const struct lens_runlist *rl, lens_walk_fn fn,
		      void *arg);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_RUNLIST_H_ */
