// SPDX-License-Identifier: GPL-2.0
// The command gpulens partitions: lists the TPCs of processes, and changes those that gpulens run limits one to. A process that
// masks its launches, or makes green contexts with libgpulens-partition, publishes that in a memory file
// (lib/launch/partition_page.hpp), which ends with the process.
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
	bool takes_requests = false;   // it can be changed
};

// Returns the partitions of processes whose files this user may open, by pid.
std::vector<PublishedPartition> published_partitions(const std::string &proc);
// Returns the partition that gpulens run gave to a process, which may be asked for another one. Throws Error: Source, it has
// none; NotOwner, it is fixed.
PublishedPartition requestable_partition(const std::string &proc, u32 pid);
// Asks the process for another partition: its launches have this mask, of the same GPU, from the next one on, and it publishes
// text (format_partitions()). Returns whether a launch took it within a second. Throws Error: Source, there is no such process;
// NotOwner, it is another user's; Failed, the process refuses it; Taken, another process asks it.
bool request_partition(const std::string &proc, u32 pid, const std::string &mask, const std::string &text);
// Prints the partitions, and unless quiet what they do not separate (in JSON always). Returns the exit status.
int show_partitions(const Options &options, bool quiet);
// Returns a line for each pair of processes that share TPCs or GPCs; empty if none do.
std::string overlaps_text(const std::vector<PublishedPartition> &all);

} // namespace tool
