// SPDX-License-Identifier: GPL-2.0
// Records that sources in user space and `gpulens record` add to a stream of samples as the module's (uapi/gpulens.h).
// Numbers are little-endian; the module never writes these values.
#pragma once
#include "gpulens/types.h"

#include <string>
#include <string_view>
#include <uapi/gpulens.h>

namespace tool {

// A sample of this kind, with engine GPULENS_SAMPLE_ALL, is followed by a record of GPULENS_RECORD_BYTES bytes, in the
// place of four samples.
constexpr u8 SAMPLE_RECORD = 19;

// Types of these records, beside those of enum gpulens_record_type.
constexpr u16 RECORD_PROCESS = 9, RECORD_CLOCKS = 11, RECORD_TEXT = 12, RECORD_SCHEDULE = 13;

// Of ProcessRecord::flags.
constexpr u8 PROCESS_TSG = 1 << 0;  // runlist and tsg name the task, channel does not
constexpr u8 PROCESS_BARE = 1 << 1; // ... and tsg is the id of a channel in no TSG

// The process that a TSG or a channel belongs to from now on. All from evidence on is zero in older recordings.
struct ProcessRecord {
	__le16 type;    // RECORD_PROCESS
	__le16 channel; // of ids that count over the GPU
	__le32 pid;     // 0: it is unknown from now on
	char name[16];  // /proc/PID/comm; empty: unknown
	__u8 evidence;  // enum class Evidence
	__u8 flags;     // PROCESS_*
	__le16 runlist, tsg;
	char user[16];      // its name or number, may be cut; empty: unknown
	char container[16]; // beginning of its id; empty: none is known
	__u8 reserved[2];
};

static_assert(sizeof(ProcessRecord) == GPULENS_RECORD_BYTES);

// Clocks of the machine, read at the same time, in nanoseconds: at the beginning and at the end of the recording. The last
// record counts. Older recordings have it at the end only, or not at all.
struct ClocksRecord {
	__le16 type; // RECORD_CLOCKS
	__u8 reserved_1[6];
	__le64 monotonic_ns; // CLOCK_MONOTONIC, as the time of samples
	__le64 boottime_ns;  // CLOCK_BOOTTIME
	__le64 realtime_ns;  // CLOCK_REALTIME
	__u8 reserved_2[32];
};

static_assert(sizeof(ClocksRecord) == GPULENS_RECORD_BYTES);

// What a text is about. Container, pod and user are of the process of the ProcessRecord before; they are there if its fields have no
// room for them.
enum class RecordedText : u8 {
	Machine = 1,
	GpuUuid = 2,
	Container = 3,
	Pod = 4,
	User = 5,
	Sampled = 6, // why it was sampled although the driver records context switches
	Clock = 7,   // how exact times by the driver's records are: "4.300 us"; the last one counts
};

// The samples of a recording whose period is 0 are of the driver's records of context switches (lib/rm/context_switches.hpp). A
// bare id from here on is no channel's but a context's, by the driver's number of it; its first one is of other users', its last
// one the driver's own.
constexpr u32 FIRST_CONTEXT_ID = 0x4000; // above those of channels
constexpr u32 KERNEL_CONTEXT_ID = 0x7fff;

constexpr u8 TEXT_CONTINUES = 1 << 0; // of TextRecord::flags: the next TextRecord has more of it
constexpr size_t MAX_TEXT = 1024;     // bytes; readers cut what is longer

// A text, or a part of it.
struct TextRecord {
	__le16 type;   // RECORD_TEXT
	__u8 about;    // enum class RecordedText
	__u8 flags;    // TEXT_CONTINUES
	char text[60]; // zeros after it
};

static_assert(sizeof(TextRecord) == GPULENS_RECORD_BYTES);

// What a coordinator of gpulens schedule saw or did.
enum class ScheduleStep : u8 {
	Policy = 1,     // it begins; name: of the policy
	Chosen = 2,     // until another task of its group is, or none; value: the group
	NoneChosen = 3, // no task of the group has work; value: the group
	Held = 4,       // until Released
	Released = 5,
	JobBegan = 6,   // value: its deadline, CLOCK_MONOTONIC in ns; 0: none
	JobEnded = 7,   // value: 1 if after its deadline
	BudgetUsed = 8, // a server's, in this period
	Refused = 9,    // a hold or a release, or it was without effect
	LeaseLost = 10, // all were released, because the coordinator did not run
	End = 11,       // of the policy
	Missing = 12,   // value: steps that were not recorded
};

struct ScheduleRecord {
	__le16 type; // RECORD_SCHEDULE
	__u8 step;   // enum class ScheduleStep
	__u8 reserved;
	__le32 task; // its number in the policy
	__le64 time_ns, value;
	char name[40]; // of the task, may be cut; zeros after it
};

static_assert(sizeof(ScheduleRecord) == GPULENS_RECORD_BYTES);

// Appends a sample of kind SAMPLE_RECORD and a record of GPULENS_RECORD_BYTES bytes.
void append_record(std::string &bytes, u64 time_ns, const void *record);
// Appends as many TextRecords as the text needs.
void append_text(std::string &bytes, u64 time_ns, RecordedText about, std::string_view text);

} // namespace tool
