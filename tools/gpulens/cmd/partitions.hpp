// SPDX-License-Identifier: GPL-2.0
// gpulens partitions: which processes are on which TPCs. A process that masks its launches, or makes green contexts through
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
	std::string process;           // its name
	std::optional<u64> launches{}; // with a mask so far; green contexts are not counted
};

// The partitions of processes whose files this user may open, by pid.
std::vector<PublishedPartition> published_partitions(const std::string &proc);
// The command. Returns its exit status.
int show_partitions(const Options &options);
// TPCs and GPCs that two processes share, a line each; "" where there are none.
std::string overlaps_text(const std::vector<PublishedPartition> &all);

} // namespace tool
