// SPDX-License-Identifier: GPL-2.0
// The partitions of this process, as gpulens partitions shows them (lib/launch/publish.hpp).
#pragma once
#include "partition/layout.hpp"

#include <string>

namespace gpulens {

// Publishes a partition, or replaces what was published for the same key. method and scope are those of PartitionEntry,
// e.g. "mask" and "stream".
void publish_partition(const void *key, const Layout &layout, const char *method, const char *scope,
		       const TpcMask &tpcs);
// Removes what was published for the key, if anything.
void withdraw_partition(const void *key);

} // namespace gpulens
