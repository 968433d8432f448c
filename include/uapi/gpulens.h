/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The binary formats of the module. /proc/gpuX/snapshot: everything that the text files show, at
 * one time. Without CAP_PERFMON each runlist has error EPERM, and no record says what runs.
 */
#ifndef _UAPI_GPULENS_H_
#define _UAPI_GPULENS_H_

/*
 * A header of 64 bytes, then header.records records of 64 bytes. Numbers are little-endian. A
 * record begins with its type; readers skip unknown types. TSG and channel records follow the
 * record of their runlist, in the order of its entries.
 */

/*
 * A newer version adds record types and flags, and uses reserved bytes, which are zero before; any
 * other change changes the magic. "Version 2" marks what version 1 did not have.
 */

#include <linux/types.h>

#define GPULENS_MAGIC		0x534c5047	/* "GPLS" in memory */
#define GPULENS_VERSION		2
#define GPULENS_RECORD_BYTES	64

/* In place of an id that the hardware does not have. */
#define GPULENS_NONE		(-1)

enum gpulens_record_type {
	GPULENS_RECORD_CHIP = 1,
	GPULENS_RECORD_ENGINE = 2,
	GPULENS_RECORD_RUNLIST = 3,
	GPULENS_RECORD_TSG = 4,
	GPULENS_RECORD_CHANNEL = 5,
	GPULENS_RECORD_GPC = 6,
	GPULENS_RECORD_PCE = 7,
	GPULENS_RECORD_GRCE = 8,
	/* 9 and 11 are reserved for recordings of `gpulens record`. */
	GPULENS_RECORD_ENGINE_NOW = 10	/* version 2 */
};

struct gpulens_header {
	__le32 magic;			/* GPULENS_MAGIC */
	__le16 version;			/* GPULENS_VERSION */
	__le16 record_bytes;		/* GPULENS_RECORD_BYTES */
	__le32 records;
	__le32 gpu;			/* the X of /proc/gpuX */
	__le64 time_ns;			/* CLOCK_MONOTONIC when the collection began */
	__le64 took_ns;			/* how long it took */
	__u8 reserved[32];
};

struct gpulens_chip {
	__le16 type;			/* GPULENS_RECORD_CHIP */
	__le16 chip_id;			/* architecture << 4 | implementation */
	__le32 boot0;
	__le64 local_memory;		/* bytes, 0: unknown */
	__u8 num_gpcs, num_tpc_per_gpc, num_ces;	/* 0: unknown */
	__u8 ids_per_runlist;
	__le32 gpc_mask;		/* set bit: disabled */
	__le32 pce_map;			/* set bit: present */
	char name[16];			/* "GP106", zero-terminated */
	char device[16];		/* PCI address or platform name; may be cut */
	__u8 engines_error;		/* errno: engine records may be missing */
	__u8 gpcs_error, copy_error;	/* errno: no GPC records; no PCE and GRCE records */
	/* Version 2: with ENOSPC, number of engines that did not fit; 255: or more. */
	__u8 engines_dropped;
};

/* A type of more than 16 bits, which no manual names. Version 1: the low 16 bits. */
#define GPULENS_ENGINE_TYPE_WIDE	0xffff

#define GPULENS_ENGINE_GRCE	(1 << 0)	/* a copy engine on a runlist with graphics */

struct gpulens_engine {
	__le16 type;			/* GPULENS_RECORD_ENGINE */
	__le16 engine_type;		/* NV_PTOP_DEVICE_INFO_TYPE_ENUM, or ..._WIDE */
	__le16 inst;
	__le16 runlist, engine_id, intr, reset, fault;	/* or GPULENS_NONE */
	__le32 pri_base, runlist_base;	/* BAR0 offsets, 0: none */
	char name[39];			/* "Copy Engine 2 (LCE2)", zero-terminated, may be cut */
	__u8 flags;			/* GPULENS_ENGINE_*; version 2, zero before */
};

/*
 * What was on an engine when the snapshot was taken. Follows the engine records. kind, flags, id
 * and channel are those of a sample, see below. Version 2.
 */
struct gpulens_engine_now {
	__le16 type;			/* GPULENS_RECORD_ENGINE_NOW */
	__le16 engine;			/* index of the engine record, from 0 */
	__u8 kind;			/* enum gpulens_sample_kind */
	__u8 flags;			/* GPULENS_SAMPLE_* */
	__u8 error;			/* errno: it is unknown; 0: none */
	__u8 reserved0;
	__le16 id, channel;		/* or GPULENS_NONE */
	__u8 reserved[52];
};

#define GPULENS_RUNLIST_PENDING	(1 << 0)	/* submitted, not yet committed */
#define GPULENS_RUNLIST_TORN	(1 << 1)	/* replaced each time while it was read */
/*
 * The registers were read: base, target, length and PENDING are valid, even if error says that the
 * entries could not be read. Version 2; in version 1 they are valid without an error.
 */
#define GPULENS_RUNLIST_REGS	(1 << 2)

struct gpulens_runlist {
	__le16 type;			/* GPULENS_RECORD_RUNLIST */
	__le16 id;
	__le16 entries;			/* TSG and channel records that follow */
	__le16 error;			/* errno: the entries could not be read; 0: none */
	__le32 flags;			/* GPULENS_RUNLIST_* */
	__le32 channels;		/* channel ids are below this */
	__le32 pbdmas;			/* set bit: this PBDMA serves it */
	__le32 length;			/* number of entries in its registers; version 2 */
	__le64 base;			/* address of the list; 0 without the capability */
	__u8 target;			/* 0: GPU memory; 2, 3: system memory */
	__u8 reserved[31];
};

struct gpulens_tsg {
	__le16 type;			/* GPULENS_RECORD_TSG */
	__le16 runlist, id, length;
	__u8 timeslice_scale, timeslice_timeout;
	__u8 reserved0[6];
	__le64 timeslice_ns;
	__u8 reserved[40];
};

#define GPULENS_CHANNEL_ENABLED		(1 << 0)
#define GPULENS_CHANNEL_NEXT		(1 << 1)
#define GPULENS_CHANNEL_CTX_RELOAD	(1 << 2)
#define GPULENS_CHANNEL_PBDMA_FAULTED	(1 << 3)
#define GPULENS_CHANNEL_ENG_FAULTED	(1 << 4)
#define GPULENS_CHANNEL_BUSY		(1 << 5)
#define GPULENS_CHANNEL_ON_PBDMA	(1 << 6)	/* from here to ACQUIRE_FAIL: Ampere .. */
#define GPULENS_CHANNEL_ON_ENG		(1 << 7)
#define GPULENS_CHANNEL_PENDING		(1 << 8)
#define GPULENS_CHANNEL_PBDMA_BUSY	(1 << 9)
#define GPULENS_CHANNEL_ENG_BUSY	(1 << 10)
#define GPULENS_CHANNEL_ACQUIRE_FAIL	(1 << 11)
#define GPULENS_CHANNEL_BOUND		(1 << 12)	/* up to Turing */
#define GPULENS_CHANNEL_NO_TARGET	(1 << 13)	/* inst_target is unknown; version 2 */

struct gpulens_channel {
	__le16 type;			/* GPULENS_RECORD_CHANNEL */
	__le16 runlist, tsg, id;	/* tsg: GPULENS_NONE: in no TSG */
	__le32 flags;			/* GPULENS_CHANNEL_* */
	__u8 status;			/* NV_PCCSR_CHANNEL_STATUS; derived on Ampere and later */
	__u8 runqueue;
	__u8 inst_target;
	__u8 error;			/* errno: its state could not be read; 0: none */
	__le32 raw[2];			/* registers: PCCSR INST and CHANNEL; or CHRAM and 0 */
	__le64 inst;			/* instance block; 0 without the capability */
	__u8 reserved[32];
};

struct gpulens_gpc {
	__le16 type;			/* GPULENS_RECORD_GPC */
	__le16 id;			/* physical; enabled GPCs only */
	__le32 tpc_mask;		/* set bit: disabled */
	__le16 first_tpc, tpcs;		/* first logical TPC number, and number of TPCs */
	__u8 reserved[52];
};

struct gpulens_pce {
	__le16 type;			/* GPULENS_RECORD_PCE */
	__le16 id;
	__le16 lce;			/* LCE that it serves, or GPULENS_NONE */
	__u8 reserved[58];
};

struct gpulens_grce {
	__le16 type;			/* GPULENS_RECORD_GRCE */
	__le16 id;
	__le16 shared_lce;		/* LCE whose PCEs it shares, or GPULENS_NONE */
	__u8 reserved[58];
};

/*
 * /proc/gpuX/samples: which TSG is on each engine over time. A struct gpulens_samples_header,
 * header.engines records of type GPULENS_RECORD_ENGINE as in a snapshot, then samples of 16 bytes
 * without end. Sampling needs "PERIOD_US [RUNLIST...]" to be written to the open file first.
 */

/*
 * There is a tick every period_us. Each has a sample of every engine, or is counted by a marker. A
 * read returns whole records or whole samples only, and never both.
 */
#define GPULENS_SAMPLES_MAGIC	0x544c5047	/* "GPLT" in memory */
#define GPULENS_SAMPLES_VERSION	2	/* engine records as of a snapshot of this version */

struct gpulens_samples_header {
	__le32 magic;			/* GPULENS_SAMPLES_MAGIC */
	__le16 version;			/* GPULENS_SAMPLES_VERSION */
	__le16 sample_bytes;		/* 16 */
	__le32 engines;			/* records that follow */
	__le32 gpu;			/* the X of /proc/gpuX */
	__le64 time_ns;			/* CLOCK_MONOTONIC when the first tick was due */
	__le32 period_us;		/* as written */
	__le32 room;			/* ring capacity, in samples */
	__u8 reserved[32];
};

/*
 * State of an engine: CTX_STATUS of NV_PFIFO_ENGINE_STATUS, or of NV_RUNLIST_ENGINE_STATUS0 on
 * Ampere and later. The TSG is that of its ID field, or of NEXT_ID during LOAD.
 */
enum gpulens_sample_kind {
	GPULENS_SAMPLE_IDLE = 0,	/* INVALID: no context on the engine */
	GPULENS_SAMPLE_ON = 1,		/* VALID */
	GPULENS_SAMPLE_LOAD = 2,	/* CTXSW_LOAD: this TSG is being loaded */
	GPULENS_SAMPLE_SAVE = 3,	/* CTXSW_SAVE: this TSG is being saved */
	GPULENS_SAMPLE_SWITCH = 4,	/* CTXSW_SWITCH: this TSG is being preempted */
	GPULENS_SAMPLE_ERROR = 5,	/* not readable, or a value that no manual has: see word */

	/* Markers, for all engines: a number of ticks without samples, the first due at time_ns. */
	GPULENS_SAMPLE_FULL = 16,	/* ring buffer overrun; samples dropped */
	GPULENS_SAMPLE_LATE = 17,	/* the thread ran too late, or a tick took too long */
	GPULENS_SAMPLE_ASLEEP = 18,	/* the GPU was asleep, and was not woken */
	/* 19 is reserved for recordings of `gpulens record`. */
};

#define GPULENS_SAMPLE_BUSY		(1 << 0)	/* ENGINE: has work (ENGINE_BUSY) */
#define GPULENS_SAMPLE_FAULTED		(1 << 1)	/* FAULTED */
#define GPULENS_SAMPLE_RELOAD		(1 << 2)	/* ENG_RELOAD */
#define GPULENS_SAMPLE_BARE_CHANNEL	(1 << 3)	/* ID_TYPE: at.id is a channel in no TSG */

#define GPULENS_SAMPLE_ALL		0xff	/* in place of an engine, of markers */

struct gpulens_sample {
	/* CLOCK_MONOTONIC just before the register was read; of markers, see above */
	__le64 time_ns;
	__u8 engine;			/* index of the engine record, or GPULENS_SAMPLE_ALL */
	__u8 kind;			/* enum gpulens_sample_kind */
	__u8 flags;			/* GPULENS_SAMPLE_*; zero of ERROR and of markers */
	__u8 reserved;
	union {
		struct {
			/* of the TSG; GPULENS_NONE of IDLE */
			__le16 id;
			/* Its channel, or GPULENS_NONE: unknown. See below. */
			__le16 channel;
		} at;
		__le32 word;		/* of ERROR: the register */
		__le32 ticks;		/* of markers: number of ticks */
	};
};

/*
 * The channel of a sample, on Ampere and later: CHID, or NEXT_CHID during LOAD, of
 * NV_RUNLIST_ENGINE_STATUS_CHANNEL(i, 0), of runqueue 0. Read after the first register, so that it
 * may be of the TSG that followed. Up to Turing: of channels in no TSG only.
 */

#endif /* _UAPI_GPULENS_H_ */
