/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A GPU and its topology: engines, runlists, units, copy engines. For errors and context see gpu.h.
 */
#ifndef _GPULENS_TOPOLOGY_H_
#define _GPULENS_TOPOLOGY_H_

#include "chip.h"
#include "io.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LENS_MAX_ENGINES	306	/* both tables of GB100, the greatest number of any row */
#define LENS_MAX_RUNLISTS	64
#define LENS_MAX_GPCS		32
#define LENS_MAX_PCES		32
#define LENS_MAX_GRCES		4
#define LENS_MAX_ENTRIES	0xffff	/* NV_*_LENGTH_MAX, the same on every chip */
#define LENS_MAX_CWD_WORDS	24	/* NV_PGRAPH_PRI_CWD_GH100__SIZE_1 */
#define LENS_CWD_GPCS		16	/* fields of 4 bits: GPCs, and TPCs within one */
#define LENS_NONE		(-1)

/**
 * struct lens_engine - one device of PTOP; ids that the table does not give are LENS_NONE
 * @type:		NV_PTOP_DEVICE_INFO_TYPE_ENUM_*; up to Turing 29 bits
 * @inst:		instance number
 * @rleng:		number within its runlist, Ampere ..
 * @runlist:		runlist id
 * @engine_id:		index of ENGINE_STATUS
 * @intr:		interrupt id
 * @reset:		reset id
 * @fault:		fault id
 * @pri_base:		BAR0 offset, 0: not given
 * @runlist_base:	BAR0 offset of its runlist's registers, Ampere ..; 0: not given
 */
struct lens_engine {
	u32 type;
	u8 inst;
	u8 rleng;
	s16 runlist;
	s16 engine_id;
	s16 intr, reset, fault;
	u32 pri_base;
	u32 runlist_base;
};

/**
 * struct lens_runlist - a runlist, as its registers described it at load
 * @id:		runlist id
 * @channels:	channel ids are below this
 * @base:	BAR0 offset of its registers, Ampere ..; 0 before
 * @chram:	BAR0 offset of channel RAM, Ampere ..; 0 before
 * @pbdmas:	set bit: PBDMA serves this runlist
 * @err:	error of reading its registers at load, or 0
 */
struct lens_runlist {
	u16 id;
	u16 channels;
	u32 base;
	u32 chram;
	u32 pbdmas;
	s16 err;
};

/**
 * struct lens_ce_map - which physical copy engine (PCE) serves which logical one (LCE)
 * @pce_map:		set bit: PCE is present
 * @lce_for_pce:	LCE of each PCE; lens_ce_layout.lce_none where the PCE serves no LCE
 * @n_grces:		number of graphics copy engines (GRCE) of the chip; also after an error
 * @shared_lce:		LCE that each GRCE shares; LENS_LCE_NONE where nothing is shared
 *
 * A driver rewrites it at any time (MIG, NVLink, state load): open-gpu-doc turing/tu104 and
 * ampere/ga102 dev_ce.ref.txt mark PCE2LCE_CONFIG and GRCE_CONFIG RW-4A. PCE_MAP is R--4R
 * there; not published for other generations.
 */
struct lens_ce_map {
	u32 pce_map;
	u8 lce_for_pce[LENS_MAX_PCES];
	u8 n_grces;
	u8 shared_lce[LENS_MAX_GRCES];
};

/**
 * struct lens_tpc_places - TPCs by logical GPC
 * @tpcs:	number of TPCs; 0: not read
 * @counted:	the hardware only counts them, and their order is assumed; else the hardware's own
 * @gpc:	of each TPC, in the order of %smid: the driver's logical GPC
 * @tpc:	of each TPC: its number within that GPC
 */
struct lens_tpc_places {
	u32 tpcs;
	bool counted;
	u8 gpc[4 * LENS_MAX_CWD_WORDS];
	u8 tpc[4 * LENS_MAX_CWD_WORDS];
};

/**
 * struct lens_topology - the units of a GPU, read once
 * @n_engines:		number of @engines
 * @n_runlists:		number of @runlists
 * @unnamed_runlists:	number of further runlists, whose id could not be read
 * @dropped_engines:	number of further devices, beyond the chip's limit
 * @engines:		by runlist, type, instance
 * @runlists:		by id
 * @num_gpcs:		number of GPCs of the chip
 * @num_tpc_per_gpc:	number of TPCs of each GPC
 * @num_ces:		number of copy engines
 * @gpc_mask:		set bit: GPC is disabled
 * @tpc_mask:		set bit: TPC is disabled; of enabled physical GPCs
 * @ce:			as it was when the topology was read
 * @memory_bytes:	bytes of GPU memory; 0: unknown, see lens_gpu_read_memory_size()
 * @gpcs_err:		error of reading GPCs and TPCs, or 0: -EOPNOTSUPP not published, -EIO
 *			refused by the hardware
 * @ce_err:		error of reading @num_ces and @ce, as @gpcs_err
 * @host_err:		-ENODATA, Host was not enabled, as before a driver sets the GPU up: its
 *			registers were not read, and each runlist has this error; or 0. Up to Turing
 * @devices_err:	engines or runlists may be missing: -EIO unreadable rows, -ENOSPC more
 *			devices than the limit; else 0
 */
struct lens_topology {
	u16 n_engines, n_runlists;
	u16 unnamed_runlists;
	u16 dropped_engines;
	struct lens_engine engines[LENS_MAX_ENGINES];
	struct lens_runlist runlists[LENS_MAX_RUNLISTS];
	u8 num_gpcs, num_tpc_per_gpc, num_ces;
	u32 gpc_mask;
	u32 tpc_mask[LENS_MAX_GPCS];
	struct lens_ce_map ce;
	u64 memory_bytes;
	int gpcs_err, ce_err;
	int host_err;
	int devices_err;
};

#define LENS_LCE_NONE		0xf

/* Runlist words of 64 bits that are read at a time outside of snapshots: a page. */
#define LENS_SCRATCH_WORDS	512

/**
 * struct lens_gpu - one GPU
 * @io:		access to it
 * @chip:	its generation
 * @id:		the chip's own limits; all zero if the chip is unknown
 * @name:	of the chip, "GP106"; of the generation if not @known
 * @known:	false: only the generation is known; topology only
 * @boot0:	PMC_BOOT_0 when it was identified
 * @chip_id:	architecture << 4 | implementation, of @boot0
 * @topo:	its topology, see lens_gpu_read_topology()
 * @holders:	of the last request with a bare id: set bit i if topo.runlists[i] holds the id
 * @scratch:	runlist words of lens_runlist_walk() and lens_check_readable()
 *
 * Filled by lens_gpu_identify(); the caller provides the memory and @io.
 */
struct lens_gpu {
	struct lens_io *io;
	const struct lens_chip *chip;
	const struct lens_chip_id *id;
	const char *name;
	bool known;
	u32 boot0, chip_id;
	struct lens_topology topo;
	u64 holders;
	u64 scratch[LENS_SCRATCH_WORDS];
};

/* -- access.c: checked reads -- */

/**
 * lens_rd32() - read a register and check what was read
 * @gpu:	GPU
 * @off:	BAR0 offset
 * @val:	filled, also after an error
 *
 * Context: as rd32() of struct lens_io_ops; inside of a stop of the machine too.
 *
 * Return: 0; -EIO, a bad-read code, or all ones while PMC_BOOT_0 answers; -ENODEV, both read
 * as all ones.
 */
int lens_rd32(struct lens_gpu *gpu, u32 off, u32 *val);

/**
 * lens_is_bad_read() - is a word a code of a failed read?
 * @val:	word that was read
 *
 * These are the error words of the priv ring (0xbadf....) and of Host (0xbad0....). Pure.
 *
 * Return: true if it is one of these.
 */
bool lens_is_bad_read(u32 val);

/* -- gpu.c: from a mapped BAR0 to a known GPU -- */

/**
 * lens_gpu_identify() - identify the chip of a GPU
 * @gpu:	filled from zero
 * @io:		access to it; io->window is set
 *
 * Reads PMC_BOOT_0.
 *
 * Return: 0; -ENODEV, the GPU is gone or nothing is known of its architecture; -EIO.
 */
int lens_gpu_identify(struct lens_gpu *gpu, struct lens_io *io);

/**
 * lens_gpu_read_topology() - read the device table, runlists, fuses and copy engines
 * @gpu:	GPU, identified; gpu->topo is filled from zero and io->memory_bytes is set
 *
 * Errors of parts are in err of the runlists and in *_err of gpu->topo; the rest is read.
 *
 * Return: 0; -ENODEV, the GPU is gone; -EIO, the device table's configuration or all its rows
 * cannot be read, or up to Turing there are more PBDMAs or runlists than possible; -EOPNOTSUPP,
 * the device table has another version.
 */
int lens_gpu_read_topology(struct lens_gpu *gpu);

/**
 * lens_gpu_read_host_again() - read the runlists if Host was not enabled, and is now
 * @gpu:	GPU with its topology; host_err of it and err, channels and pbdmas of its runlists
 *		are set. Runlists are not added: not those that only PBDMAs serve
 *
 * Reads nothing where host_err is 0, and PMC_ENABLE alone while Host is not enabled.
 *
 * Return: 0; errors of lens_gpu_read_topology().
 */
int lens_gpu_read_host_again(struct lens_gpu *gpu);

/**
 * lens_gpu_read_memory_size() - size of GPU memory
 * @gpu:	GPU, identified; topo.memory_bytes and io->memory_bytes are set
 * @bytes:	filled, 0 after an error; unchanged after -EOPNOTSUPP
 *
 * The register is read until the size is known.
 *
 * Return: 0; -EOPNOTSUPP, not published or the chip has no memory of its own; -ENODATA, the
 * register reads 0, as before a driver ran; errors of lens_rd32().
 */
int lens_gpu_read_memory_size(struct lens_gpu *gpu, u64 *bytes);

/* -- topology.c: finding in the tables -- */

/**
 * lens_gpu_has_host() - can runlists be read and controlled?
 * @gpu:	GPU, identified
 *
 * Pure.
 *
 * Return: false, only the topology is known.
 */
bool lens_gpu_has_host(const struct lens_gpu *gpu);

/**
 * lens_gpu_find_runlist() - find a runlist of the topology
 * @gpu:	GPU with its topology
 * @id:		runlist id
 *
 * Pure.
 *
 * Return: the runlist; NULL, none has this id.
 */
const struct lens_runlist *lens_gpu_find_runlist(const struct lens_gpu *gpu, u32 id);

/* -- engine.c: status and names of engines -- */
#define LENS_ENGINE_NAME 48

/**
 * lens_engine_format_name() - name of an engine
 * @gpu:	GPU with its topology
 * @e:		engine of it
 * @buf:	filled, LENS_ENGINE_NAME bytes with the terminating 0
 *
 * Pure.
 */
void lens_engine_format_name(const struct lens_gpu *gpu, const struct lens_engine *e, char *buf);

/**
 * lens_engine_is_grce() - is this a graphics copy engine?
 * @gpu:	GPU with its topology
 * @e:		engine of it
 *
 * Pure.
 *
 * Return: true for one of the chip's first LCEs that is on a runlist with graphics.
 */
bool lens_engine_is_grce(const struct lens_gpu *gpu, const struct lens_engine *e);

#ifdef __cplusplus
}
#endif

#endif /* _GPULENS_TOPOLOGY_H_ */
