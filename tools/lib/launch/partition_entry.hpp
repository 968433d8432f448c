// SPDX-License-Identifier: GPL-2.0
// The list of partitions that a process publishes (partition_page.hpp), and its JSON form.
#pragma once
#include "gpulens/gpu.h"

#include <string>
#include <vector>

namespace tool {

constexpr char SCOPE_OF_RUN[] = "program"; // gpulens run limits it

struct PartitionEntry {
	std::string gpu;             // PCI address
	std::string method;          // "mask", "green"
	std::string scope;           // SCOPE_OF_RUN, "all launches", "stream"
	std::vector<u32> tpcs, gpcs; // ascending
};

std::string format_partitions(const std::vector<PartitionEntry> &list);
// Parses the text of any process: strings are truncated and made printable, numbers sorted and unique. Throws
// std::exception.
std::vector<PartitionEntry> parse_partitions(const std::string &text);

} // namespace tool
