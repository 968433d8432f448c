// SPDX-License-Identifier: GPL-2.0
// Drops privileges permanently.
#pragma once
#include <sys/capability.h>
#include <vector>

namespace tool {

// Drops all capabilities but these from this thread and those that it starts, and prevents executed programs from gaining
// others. Call it before there are other threads, because each thread has its own capabilities. Throws Error.
void keep_capabilities(const std::vector<cap_value_t> &kept);

} // namespace tool
