// SPDX-License-Identifier: GPL-2.0
// Numbers, times and names as text, and times from text.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>
#include <vector>

namespace tool {

// 1048576 as "1.049 ms": three digits after the point, in the unit that suits.
std::string duration(u64 ns);
// A name that somebody else chose, without what would steer a terminal: ? in place of control characters.
std::string printable(std::string name);
// Ascending numbers as "0-3, 7"; "none".
std::string ranges(const std::vector<u32> &sorted);
// "48.0 GiB"
std::string bytes_text(u64 bytes);
// "10s", "500ms", "100us", "2m"; a bare number counts in unit_ns. Nothing: not a time.
std::optional<u64> parse_duration(const std::string &text, u64 unit_ns);

} // namespace tool
