/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between chip generations, as constant data.
 *
 * One struct lens_chip per generation, in src/chip/<generation>.c. To add one: that file, its
 * line in the table of src/chip.c, its declaration below and its line in Kbuild;
 * docs/add-a-chip.md shows it. No other file may compare a chip id.
 */
#ifndef _GPULENS_CHIP_H_
#define _GPULENS_CHIP_H_

#include "io.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lens_channel;
struct lens_gpu;
struct lens_runlist;
struct lens_runlist_regs;
struct lens_entry;
struct lens_channel_state;
struct lens_engine;
struct lens_engine_status;
struct lens_mmu_format;
struct lens_bar;

/**
 * struct lens_window - the PRAMIN window of a generation
 * @reg:	BAR0 offset of the window register
 * @base_mask:	its address field, in 64 KiB steps, from bit 0
 */
struct lens_window {
	u32 reg;
	u32 base_mask;
};

/**
 * struct lens_chip_id - one chip of a generation
 * @id:		PMC_BOOT_0 architecture << 4 | implementation; 0 ends the table
 * @name:	of the chip, "GP106"
 * @channels:	number of channel ids; 0: the generation's
 * @runlists:	runlist ids are below this; 0: the generation's
 * @pbdmas:	number of PBDMAs where CFG0 does not say; 0: the generation's
 * @soc:	Tegra: no memory of its own, its video memory is the system's
 * @assumed:	as of struct lens_chip, of this chip alone; NULL: the generation's
 */
struct lens_chip_id {
	u16 id;
	const char *name;
	u16 channels, runlists;
	u8 pbdmas;
	bool soc;
	const char *assumed;
};

/**
 * struct lens_ce_layout - copy engine registers
 * @pce_map:		BAR0 offset of the map of PCEs, set bit: PCE present
 * @pce_map_mask:	bits of @pce_map that count
 * @pce2lce:		BAR0 offset: one register per PCE, or one packed register
 * @pces:		greatest number of PCEs in the map; 0: no map is published
 * @grce:		BAR0 offset: one register per GRCE, or one packed register
 * @grces:		number of GRCEs; may be published alone, with @pces 0
 * @packed:		Pascal: 4 bits per PCE, 8 bits per GRCE
 * @lce_none:		code of a PCE that serves no LCE
 */
struct lens_ce_layout {
	u32 pce_map;
	u32 pce_map_mask;
	u32 pce2lce;
	u8 pces;
	u32 grce;
	u8 grces;
	bool packed;
	u8 lce_none;
};

/**
 * struct lens_cwd_layout - the compute work distributor's table of TPCs
 * @gpc_tpc_id:	BAR0 offset of CWD_GPC_TPC_ID(0)
 * @sm_id:	BAR0 offset of CWD_SM_ID(0)
 * @words:	of each of the two; 0: not published
 */
struct lens_cwd_layout {
	u32 gpc_tpc_id;
	u32 sm_id;
	u8 words;
};

/**
 * struct lens_host_ops - how Host (the scheduler) of a generation is accessed
 * @read_runlists:	fill gpu->topo.runlists, once, after the device table was read
 * @read_runlist_regs:	base, length and pending bit of a runlist as last submitted
 * @read_channel:	raw words of a channel's state: w[0], and w[1] on PCCSR chips
 * @enable_channel:	enable or disable a channel and read it back, see lens_channel_enable();
 *			w as of @read_channel, without an instance block
 * @enable_same:	see lens_channel_enable_same(); w likewise; NULL: only runlist entries have
 *			instance blocks
 * @may_miss_enable:	work of a channel that is enabled again may go unnoticed until its runlist
 *			is submitted: nvdebug submits it again from Turing on for that reason;
 *			linux-nvgpu rings the doorbell after it enables channels from Volta on
 *			(tsg_gv11b.c). Before Volta there is no doorbell: Host looks by itself.
 * @preempt_tsg:	preempt a TSG and wait for it, see lens_tsg_preempt()
 * @preempt_others:	preempt every TSG but one on the runlist's engines, see lens_tsg_switch_to()
 * @preempt_runlist:	see lens_runlist_preempt(); NULL: this generation has no such request
 * @resubmit:		submit the runlist again, see lens_runlist_resubmit(). expected: only if
 *			the registers are these, else -EBUSY; NULL: in any case
 * @get_engine_regs:	BAR0 offsets of the registers that decode_engine takes, as
 *			lens_engine_get_regs(): how many, 0 when the engine has none. No access.
 * @get_timeout_reg:	BAR0 offset of the register of an engine's context switch timeout; 0: none
 * @decode_entry:	decode a runlist entry of lens_chip.entry_words words
 * @decode_channel:	decode what @read_channel read
 * @decode_engine:	decode the registers of @get_engine_regs
 * @set_timeslice:	the first word of a TSG's entry with another time slice
 *
 * Functions that return int return 0 or -errno: the errors of lens_rd32(), and of atomic() of
 * struct lens_io_ops where they write registers that the GPU's driver uses too. Decoders are
 * pure: words in, fields out, no access, any context. chid, tsgid: below the limits of the
 * runlist and the chip, the caller checks that.
 */
struct lens_host_ops {
	int (*read_runlists)(struct lens_gpu *gpu);
	int (*read_runlist_regs)(struct lens_gpu *gpu, const struct lens_runlist *rl,
				 struct lens_runlist_regs *regs);
	int (*read_channel)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			    u32 w[2]);
	int (*enable_channel)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			      bool enable, u32 w[2]);
	int (*enable_same)(struct lens_gpu *gpu, const struct lens_channel *c, bool enable,
			   u32 w[2]);
	bool may_miss_enable;
	int (*preempt_tsg)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);
	int (*preempt_others)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);
	int (*preempt_runlist)(struct lens_gpu *gpu, const struct lens_runlist *rl);
	int (*resubmit)(struct lens_gpu *gpu, const struct lens_runlist *rl,
			const struct lens_runlist_regs *expected);

	u32 (*get_engine_regs)(const struct lens_engine *e, u32 reg[2]);
	u32 (*get_timeout_reg)(const struct lens_engine *e);

	void (*decode_entry)(const u32 *w, struct lens_entry *e);
	void (*decode_channel)(const u32 w[2], struct lens_channel_state *s);
	void (*decode_engine)(const u32 w[2], struct lens_engine_status *s);
	u32 (*set_timeslice)(u32 word, u32 timeout, u32 scale);
};

/**
 * enum lens_ctxsw_layout - what an instance block names as the place of the context
 * @LENS_CTXSW_UNPUBLISHED:	not published
 * @LENS_CTXSW_MAIN:		the main image
 * @LENS_CTXSW_VEID:		a per-VEID header that points to the main image (Volta ..)
 */
enum lens_ctxsw_layout {
	LENS_CTXSW_UNPUBLISHED,
	LENS_CTXSW_MAIN,
	LENS_CTXSW_VEID,
};

/**
 * enum lens_tpc_order - are logical TPC numbers as lens_gpc_count_tpcs() counts them?
 * @LENS_TPC_ORDER_PUBLISHED:	yes; or neither fuses nor counts are published
 * @LENS_TPC_ORDER_ASSUMED:	assumed; where TPCs are only counted, the order of
 *				lens_gpc_read_counts() is
 * @LENS_TPC_ORDER_WRONG:	no: such a chip was observed to number them differently
 *
 * That function counts enabled TPCs, GPC by GPC (RTAS'23, Fig. 5).
 */
enum lens_tpc_order {
	LENS_TPC_ORDER_PUBLISHED,
	LENS_TPC_ORDER_ASSUMED,
	LENS_TPC_ORDER_WRONG,
};

/**
 * struct lens_chip - one generation
 * @name:		of the generation, "GP10x"
 * @arch:		of the architecture, "Pascal"
 * @ids:		its chips; ends with id 0
 * @entry_words:	32-bit words of a runlist entry: 2 or 4
 * @bare_channels:	a channel may stand on a runlist outside of any TSG
 * @tsg_length_max:	greatest number of channels that a TSG's entry can give
 * @tsgs:		TSG ids are below this
 * @runlists:		runlist ids are below this
 * @channels:		number of GPU-wide channel ids; 0: each runlist has its own
 * @has_cfg:		PFIFO_CFG0 and CFG1 exist (GM20x .. Turing): numbers of PBDMAs and channels
 * @pbdmas:		number of PBDMAs where they do not
 * @ids_per_runlist:	channel and TSG ids repeat from runlist to runlist
 * @inst_1_is_vid:	hardware takes target 1 of an instance block, invalid, for video memory
 * @host:		access to Host; NULL: not published, topology only
 * @read_devices:	read the device table into gpu->topo; errors: lens_gpu_read_topology()
 * @engines:		greatest number of devices; LENS_PTOP_*_DEVICES
 * @fuse_gpc:		BAR0 offset, set bit: GPC disabled; 0: not published
 * @fuse_tpc_gpc:	BAR0 offset, + 4 * physical GPC, set bit: TPC disabled
 * @has_gpc_counts:	FECS_FS and GPC_FS are read, since no fuses are published
 * @tpc_order:		is the order of logical TPCs known?
 * @cwd:		the hardware's own order of TPCs
 * @has_num_ces:	PTOP_SCAL_NUM_CES exists; else the device table's copy engines are counted
 * @ce:			copy engine registers
 * @memory_bytes:	bytes of GPU memory, 0 before a driver ran; errors of lens_rd32(). NULL:
 *			not published
 * @window:		the PRAMIN window
 * @mmu:		the format that word 128 of an instance block selects. NULL: not published
 * @bar_block:		mode and instance block of BAR1 or BAR2. NULL: not published
 * @ctxsw:		where a channel's context image is
 * @assumed:		facts of this row that no manual publishes; printed by chip. NULL: none
 */
struct lens_chip {
	const char *name;
	const char *arch;
	const struct lens_chip_id *ids;

	u8 entry_words;
	bool bare_channels;
	u16 tsg_length_max;
	u16 tsgs;
	u16 runlists;
	u16 channels;
	bool has_cfg;
	u8 pbdmas;
	bool ids_per_runlist;
	bool inst_1_is_vid;

	const struct lens_host_ops *host;
	int (*read_devices)(struct lens_gpu *gpu);
	u16 engines;

	u32 fuse_gpc;
	u32 fuse_tpc_gpc;
	bool has_gpc_counts;
	enum lens_tpc_order tpc_order;
	struct lens_cwd_layout cwd;
	bool has_num_ces;
	struct lens_ce_layout ce;
	int (*memory_bytes)(struct lens_gpu *gpu, u64 *bytes);

	struct lens_window window;
	const struct lens_mmu_format *(*mmu)(u32 ramin_word);
	int (*bar_block)(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);
	enum lens_ctxsw_layout ctxsw;
	const char *assumed;
};

/**
 * lens_chip_is_same() - is BOOT_0 still that of the chip that was identified?
 * @was:	BOOT_0 when the chip was identified; 0: none was identified yet
 * @now:	BOOT_0 now
 *
 * Context: any, no access.
 *
 * Return: true where they are equal or @was is 0.
 */
bool lens_chip_is_same(u32 was, u32 now);

/**
 * lens_chip_find() - the generation of a chip id and the chip's own row in it
 * @id:		PMC_BOOT_0 architecture << 4 | implementation
 * @row:	set: the chip's row, or a row of zeros if no generation lists @id
 * @known:	set: a generation lists @id
 *
 * An unlisted id of a known architecture gets the newest generation of that architecture, with
 * *known false. Of such a chip only the device table is read: no manual says that its other
 * registers are those of that generation.
 *
 * Context: any, no access.
 *
 * Return: the generation; NULL, nothing is known of @id.
 */
const struct lens_chip *lens_chip_find(u32 id, const struct lens_chip_id **row, bool *known);

/**
 * lens_chip_get_assumed() - facts of a chip that no source confirms
 * @chip:	generation
 * @id:		the chip's row in it
 *
 * Context: any, no access.
 *
 * Return: text of @id, else of @chip; NULL, nothing is assumed.
 */
const char *lens_chip_get_assumed(const struct lens_chip *chip, const struct lens_chip_id *id);

/* The generations, src/chip/<generation>.c; and all of them by age, ended by NULL. */
extern const struct lens_chip *const lens_chips[];
extern const struct lens_chip lens_chip_gk10x;
extern const struct lens_chip lens_chip_gm10x;
extern const struct lens_chip lens_chip_gm20x;
extern const struct lens_chip lens_chip_gp100;
extern const struct lens_chip lens_chip_gp10x;
extern const struct lens_chip lens_chip_gv10x;
extern const struct lens_chip lens_chip_tu10x;
extern const struct lens_chip lens_chip_ga100;
extern const struct lens_chip lens_chip_ga10x;
extern const struct lens_chip lens_chip_gh100;
extern const struct lens_chip lens_chip_ad10x;
extern const struct lens_chip lens_chip_gb10x;
extern const struct lens_chip lens_chip_gb20x;

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_CHIP_H_ */
