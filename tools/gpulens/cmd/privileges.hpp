// SPDX-License-Identifier: GPL-2.0
// Giving up privileges for good.
#pragma once
#include <sys/capability.h>
#include <vector>

namespace tool {

// Of the capabilities that this thread and those it starts have, only these stay, and no program that is executed gains
// others. Before there are other threads: each has capabilities of its own. Throws Error.
void keep_capabilities(const std::vector<cap_value_t> &kept);

} // namespace tool
