// SPDX-License-Identifier: GPL-2.0
// What this process has its work on, for gpulens partitions (lib/launch/publish.hpp).
#pragma once
#include "partition/layout.hpp"

#include <string>

namespace gpulens {

// In place of what the same key had. way and scope: as PartitionEntry has them.
void tell(const void *key, const Layout &layout, const char *way, const char *scope, const TpcMask &tpcs);
void untell(const void *key);

} // namespace gpulens
