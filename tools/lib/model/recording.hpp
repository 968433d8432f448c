// SPDX-License-Identifier: GPL-2.0
// Records that `gpulens record` adds to the stream of samples (uapi/gpulens.h). Numbers are little-endian; the module
// never writes these values.
#pragma once
#include "gpulens/types.h"

#include <uapi/gpulens.h>

namespace tool {

// A sample of this kind, with engine GPULENS_SAMPLE_ALL, is followed by a record of GPULENS_RECORD_BYTES bytes, in the
// place of four samples.
constexpr u8 SAMPLE_RECORD = 19;

// Types of these records, beside those of enum gpulens_record_type.
constexpr u16 RECORD_PROCESS = 9, RECORD_CLOCKS = 11;

// The process that has a channel.
struct ProcessRecord {
	__le16 type; // RECORD_PROCESS
	__le16 channel;
	__le32 pid;
	char name[16]; // /proc/PID/comm; empty: unknown
	__u8 reserved[40];
};

static_assert(sizeof(ProcessRecord) == GPULENS_RECORD_BYTES);

// Clocks of the machine, read at the same time at the end of the recording, in nanoseconds.
struct ClocksRecord {
	__le16 type; // RECORD_CLOCKS
	__u8 reserved_1[6];
	__le64 monotonic_ns; // CLOCK_MONOTONIC, as the time of samples
	__le64 boottime_ns;  // CLOCK_BOOTTIME
	__le64 realtime_ns;  // CLOCK_REALTIME
	__u8 reserved_2[32];
};

static_assert(sizeof(ClocksRecord) == GPULENS_RECORD_BYTES);

} // namespace tool
