// SPDX-License-Identifier: GPL-2.0
// What a process with a partition says of itself, in a file in memory that others may read; see applied.hpp.
#pragma once
#include "gpulens/gpu.h"

namespace tool {

constexpr char APPLIED_FILE[] = "gpulens-partition"; // its name

// What is in it.
struct AppliedPage {
	char magic[8];   // APPLIED_MAGIC
	u64 launches;    // with a mask so far
	char text[4080]; // JSON, ended by 0: a list of objects with gpu (PCI address), way, scope, tpcs and gpcs
};
static_assert(sizeof(AppliedPage) == 4096);
constexpr char APPLIED_MAGIC[9] = "gpulens1";

} // namespace tool
