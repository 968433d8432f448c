// SPDX-License-Identifier: GPL-2.0
// A memory file (memfd_create(2)) in which a process publishes its partitions; gpulens/cmd/partitions.hpp reads it.
#pragma once
#include "gpulens/gpu.h"

namespace tool {

constexpr char PARTITION_FILE[] = "gpulens-partition"; // its name

// Head of the file. At PARTITION_TEXT_OFFSET there are length bytes of JSON: the list of partition_entry.hpp.
struct PartitionPage {
	char magic[8]; // PARTITION_MAGIC
	u32 pid;       // of the publishing process, in its own PID namespace; a child of fork() inherits the file
	u32 version;   // odd while the text is being written
	u64 launches;  // with a mask so far
	u64 length;    // bytes
	// A request of another process, which locks the file (flock(2)) while it has one: gpulens partitions set.
	u32 takes_requests; // 1: launches look at asked
	u32 asked;          // raised by one before and after the request is written: odd meanwhile
	u32 answered;       // asked, of the last request that a launch has looked at
	u32 refused;        // asked, of the last request that was none
	char mask[128];     // environment::format_launch_mask()
	char text[3072];    // the list from then on; both end with 0
};
static_assert(sizeof(PartitionPage) == 3248);
constexpr char PARTITION_MAGIC[9] = "gpulens3";
constexpr u32 PARTITION_TEXT_OFFSET = 4096;
constexpr u32 PARTITION_MAX_TEXT = 4 << 20; // bytes; longer texts are ignored

} // namespace tool
