// SPDX-License-Identifier: GPL-2.0
// Formats numbers, times and names, and parses times.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>
#include <vector>

namespace tool {

// Returns "1.049 ms" for 1048576 ns: three digits after the point, in us, ms or s.
std::string format_duration(u64 ns);
// Replaces control characters by ?, for names that other programs choose.
std::string replace_controls(std::string name);
// Returns "0-3, 7" for ascending numbers; "none" without any.
std::string format_ranges(const std::vector<u32> &sorted);
// Returns "48.0 GiB".
std::string format_bytes(u64 bytes);
// Parses "10s", "500ms", "100us" or "2m", or a bare number in unit_ns. Returns nothing for other text.
std::optional<u64> parse_duration(const std::string &text, u64 unit_ns);

} // namespace tool
