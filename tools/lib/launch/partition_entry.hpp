// SPDX-License-Identifier: GPL-2.0
// The list of partitions that a process publishes (partition_page.hpp), and its JSON.
#pragma once
#include "gpulens/gpu.h"

#include <string>
#include <vector>

namespace tool {

struct PartitionEntry {
	std::string gpu;             // PCI address
	std::string way;             // "mask", "green"
	std::string scope;           // "program", "all launches", "stream"
	std::vector<u32> tpcs, gpcs; // ascending
};

std::string format_partitions(const std::vector<PartitionEntry> &list);
// Text of any process: strings are cut and made printable, numbers are sorted and unique. Throws std::exception.
std::vector<PartitionEntry> parse_partitions(const std::string &text);

} // namespace tool
