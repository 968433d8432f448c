/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between chip generations, as constant data.
 *
 * One struct lens_chip per generation, in src/chip/<generation>.c, listed once
 * in src/chip.c. To add one: that file, its line in the table and its line in
 * Kbuild and CMakeLists.txt; docs/add-a-chip.md shows it. No other file may
 * compare a chip id.
 */
#ifndef _GPULENS_CHIP_H_
#define _GPULENS_CHIP_H_

#include "io.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lens_gpu;
struct lens_runlist;
struct lens_runlist_regs;
struct lens_entry;
struct lens_channel_state;
struct lens_engine;
struct lens_engine_status;
struct lens_mmu_format;
struct lens_bar;

struct lens_window {
	u32 reg;		/* BAR0 offset of the window register */
	u32 base_mask;		/* its address field, in 64 KiB steps, from bit 0 */
};

/* One chip of a generation. Zero limits: the generation's. */
struct lens_chip_id {
	u16 id;			/* PMC_BOOT_0 architecture << 4 | implementation */
	const char *name;
	u16 channels, runlists;
	u8 pbdmas;		/* where CFG0 does not say */
	bool soc;		/* Tegra: no memory of its own, its video memory is the system's */
	const char *assumed;	/* as of struct lens_chip, of this chip alone */
};

/* Copy engine registers. pces 0: no map is published; grces alone may be. */
struct lens_ce_layout {
	u32 pce_map;		/* set bit: PCE present */
	u32 pce_map_mask;
	u32 pce2lce;		/* one register per PCE, or one packed register */
	u8 pces;		/* at most so many PCEs have an entry */
	u32 grce;		/* one register per GRCE, or one packed register */
	u8 grces;
	bool packed;		/* Pascal: 4 bits per PCE, 8 bits per GRCE */
	u8 lce_none;		/* code of a PCE that serves no LCE */
};

/* How Host (the scheduler) is spoken to on this generation. */
struct lens_host_ops {
	/* Fill gpu->topo.runlists, once, after the device table was read. */
	int (*read_runlists)(struct lens_gpu *gpu);
	/* Base, length and pending bit of a runlist as last submitted. */
	int (*runlist_regs)(struct lens_gpu *gpu, const struct lens_runlist *rl,
			    struct lens_runlist_regs *regs);
	/* Raw words of a channel's state: w[0], and w[1] on PCCSR chips. */
	int (*channel_words)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			     u32 w[2]);
	int (*channel_set)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 chid,
			   bool enable);
	int (*preempt_tsg)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);
	/* Take every TSG but one off the runlist's engines. */
	int (*preempt_others)(struct lens_gpu *gpu, const struct lens_runlist *rl, u32 tsgid);
	/* NULL: this generation has no such request. */
	int (*preempt_runlist)(struct lens_gpu *gpu, const struct lens_runlist *rl);
	/* expected: only if the list is that one, -EBUSY else; NULL: whatever list is there. */
	int (*resubmit)(struct lens_gpu *gpu, const struct lens_runlist *rl,
			const struct lens_runlist_regs *expected);

	/* Which registers say what an engine is at: how many, 0 when it has none. No access. */
	u32 (*engine_regs)(const struct lens_engine *e, u32 reg[2]);

	/* Pure decoders: words in, fields out, no access. */
	void (*decode_entry)(const u32 *w, struct lens_entry *e);
	void (*decode_channel)(const u32 w[2], struct lens_channel_state *s);
	void (*decode_engine)(const u32 w[2], struct lens_engine_status *s);
	/* The first word of a TSG's entry with another time slice. */
	u32 (*set_timeslice)(u32 word, u32 timeout, u32 scale);
};

enum lens_ctxsw_layout {
	LENS_CTXSW_UNPUBLISHED,
	LENS_CTXSW_MAIN,	/* the instance block points at the main image */
	LENS_CTXSW_VEID,	/* ... at a per-VEID header that points on (Volta ..) */
};

/*
 * Are logical TPC numbers as lens_gpc_tpcs() counts them: through the GPCs in order, without
 * the units that are off (RTAS'23, Fig. 5)?
 */
enum lens_tpc_order {
	LENS_TPC_ORDER_PUBLISHED,	/* yes; or no fuses are published */
	LENS_TPC_ORDER_ASSUMED,
	LENS_TPC_ORDER_WRONG,		/* no: seen otherwise on such a chip */
};

struct lens_chip {
	const char *name;		/* of the generation */
	const char *arch;
	const struct lens_chip_id *ids;	/* ends with id 0 */

	u8 entry_words;			/* 32-bit words of a runlist entry: 2 or 4 */
	bool bare_channels;		/* a channel may stand on a runlist outside of any TSG */
	u16 tsg_length_max;
	u16 tsgs;			/* TSG ids are below this */
	u16 runlists;			/* runlist ids are below this */
	u16 channels;			/* GPU-wide channel ids; 0: per runlist */
	bool has_cfg;			/* PFIFO_CFG0 and CFG1 exist (GM20x .. Turing) */
	u8 pbdmas;			/* where they do not */
	bool ids_per_runlist;		/* channel and TSG ids repeat from runlist to runlist */
	bool inst_1_is_vid;		/* hardware takes target 1, invalid, for video memory */

	const struct lens_host_ops *host;	/* NULL: no manual says how; topology only */
	int (*read_devices)(struct lens_gpu *gpu);
	u16 engines;			/* at most so many devices are kept; LENS_PTOP_*_DEVICES */

	u32 fuse_gpc;			/* set bit: GPC disabled; 0: not published */
	u32 fuse_tpc_gpc;		/* + 4 * physical GPC, set bit: TPC disabled */
	enum lens_tpc_order tpc_order;
	bool has_num_ces;
	struct lens_ce_layout ce;
	/* Bytes of GPU memory, 0 before a driver ran. NULL: not published. */
	int (*memory_bytes)(struct lens_gpu *gpu, u64 *bytes);

	struct lens_window window;
	/* The format that an instance block's word 128 selects. NULL: not published. */
	const struct lens_mmu_format *(*mmu)(u32 ramin_word);
	/* Mode and instance block of BAR1 or BAR2. NULL: not published. */
	int (*bar_block)(struct lens_gpu *gpu, u32 bar, struct lens_bar *b);
	enum lens_ctxsw_layout ctxsw;
	const char *assumed;		/* what of this row no manual publishes; printed by chip */
};

/* Is BOOT_0 still the one of the chip that was identified? was 0: none was identified yet. */
bool lens_chip_is_same(u32 was, u32 now);

/*
 * The generation of a chip id and the chip's own row in it. An id that no row has
 * but whose architecture the table has gets the newest generation of that with *known
 * false: its device table is read and no other register, for nobody says that they
 * are where that generation has them. NULL: nothing is known.
 */
const struct lens_chip *lens_chip_find(u32 id, const struct lens_chip_id **row, bool *known);

/* What no source says of this chip of that generation, or NULL. */
const char *lens_chip_assumed(const struct lens_chip *chip, const struct lens_chip_id *id);

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
