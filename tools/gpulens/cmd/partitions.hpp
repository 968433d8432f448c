// SPDX-License-Identifier: GPL-2.0
// The command gpulens partitions: lists the TPCs of processes. A process that masks its launches, or makes green contexts with
// libgpulens-partition, publishes that in a memory file (lib/launch/partition_page.hpp), which ends with the process.
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/launch/partition_entry.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

struct PublishedPartition : PartitionEntry {
	u32 pid = 0;
	std::string process;           // name
	std::optional<u64> launches{}; // number of masked launches; green contexts are not counted
};

// Returns the partitions of processes whose files this user may open, by pid.
std::vector<PublishedPartition> published_partitions(const std::string &proc);
// Prints the partitions, and unless quiet what they do not separate (in JSON always). Returns the exit status.
int show_partitions(const Options &options, bool quiet);
// Returns a line for each pair of processes that share TPCs or GPCs; empty if none do.
std::string overlaps_text(const std::vector<PublishedPartition> &all);

} // namespace tool
