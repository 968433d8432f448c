// SPDX-License-Identifier: GPL-2.0
// What a process with a partition says of itself, in a file in memory that others may read; gpulens/cmd/partitions.hpp reads it.
#pragma once
#include "gpulens/gpu.h"

namespace tool {

constexpr char APPLIED_FILE[] = "gpulens-partition"; // its name

// What it begins with. At APPLIED_TEXT_AT there are length bytes of JSON: a list of objects with gpu (PCI address), way, scope,
// tpcs and gpcs.
struct AppliedPage {
	char magic[8]; // APPLIED_MAGIC
	u32 pid; // of the process that this is about, in its own PID namespace; children of fork() have the file, too
	u32 version;  // odd while the text is written
	u64 launches; // with a mask so far
	u64 length;   // bytes
};
static_assert(sizeof(AppliedPage) == 32);
constexpr char APPLIED_MAGIC[9] = "gpulens2";
constexpr u32 APPLIED_TEXT_AT = 4096;
constexpr u32 APPLIED_MAX_TEXT = 4 << 20; // bytes; longer ones are not read

} // namespace tool
