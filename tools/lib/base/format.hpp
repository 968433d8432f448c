// SPDX-License-Identifier: GPL-2.0
// Formats numbers, times and names, and parses times.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>
#include <vector>

namespace tool {

template <typename Number> double to_seconds(Number ns)
{
	return static_cast<double>(ns) / 1e9;
}
// Returns "1.049 ms" for 1048576 ns: three digits after the point, in us, ms or s.
std::string format_duration(u64 ns);
// Formats a time that was measured with samples step_ns apart: no digit below the step's own first one ("2.0 ms" with a step
// of 100 us), and "<2 ms" for what is nearer to one step of 1 ms than to two: one sample saw it, so that it took less than
// two. step_ns 0: as format_duration(). unit: one for all values ("ms"), which is then left out; empty: one that fits.
std::string format_measured(u64 ns, u64 step_ns, const std::string &unit = "");
// Formats a share in percent that so many observations show: "48.3" from 1000 on, "48" from 100 on, "3/10" for fewer; 0: "48.3".
std::string format_share(double share, u64 observations);
// Returns whether these are the same PCI address, of which upper and lower case are equal. Empty is unknown, and is equal to
// none.
bool is_same_address(const std::string &a, const std::string &b);
// Replaces control characters by ?, for names that other programs choose.
std::string replace_controls(std::string name);
// Returns whether it is printable ASCII without blanks, and not empty: fit for a column or a list.
bool is_plain_word(const std::string &text);
// Returns "0-3, 7" for ascending numbers; "none" without any.
std::string format_ranges(const std::vector<u32> &sorted);
// Returns the parts of a text between a character: one more than it has of them, any may be empty.
std::vector<std::string> split_text(const std::string &text, char at);
// Returns "48.0 GiB".
std::string format_bytes(u64 bytes);
// Parses "10s", "500ms", "100us" or "2m", or a bare number in unit_ns. Returns nothing for other text.
std::optional<u64> parse_duration(const std::string &text, u64 unit_ns);

} // namespace tool
