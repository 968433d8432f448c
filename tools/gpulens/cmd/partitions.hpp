// SPDX-License-Identifier: GPL-2.0
// gpulens partitions: which processes are on which TPCs. A process that masks its launches, or makes green contexts through
// libgpulens-partition, has a file in memory (memfd_create(2)) that says so; it goes when the process does.
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/launch/partition_page.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

struct Applied {
	u32 pid = 0;
	std::string process;         // its name
	std::string gpu;             // PCI address
	std::string way;             // "mask", "green"
	std::string scope;           // "program", "all launches", "stream"
	std::vector<u32> tpcs, gpcs; // ascending
	std::optional<u64> launches; // with a mask so far; green contexts are not counted
};

// Those of processes that this user may look into; by pid.
std::vector<Applied> applied_partitions(const std::string &proc);
// The command. Returns its exit status.
int show_partitions(const Options &options);
// TPCs that two of them have, and GPCs: a line each, "" where there are none.
std::string overlaps_text(const std::vector<Applied> &all);

} // namespace tool
