// SPDX-License-Identifier: GPL-2.0
// A set of logical TPCs, of any width, because GPUs have more than 64. A set bit is a TPC of the set, as in tpc_map. In
// gpcX_tpc_mask and in libsmctrl a set bit is a disabled TPC; disable_hex() has that form.
#pragma once
#include "gpulens/gpu.h"

#include <optional>
#include <string>
#include <vector>

namespace tool::plan {

class TpcMask {
public:
	explicit TpcMask(u32 width) : bits_(width) {}

	u32 width() const { return static_cast<u32>(bits_.size()); }
	bool has(u32 tpc) const { return tpc < bits_.size() && bits_[tpc]; }
	void add(u32 tpc) { bits_.at(tpc) = true; }
	u32 count() const;
	std::vector<u32> tpcs() const;   // ascending
	std::string hex() const;         // "0x0ff", with a digit for each 4 TPCs of the width
	std::string disable_hex() const; // of all other TPCs

private:
	std::vector<bool> bits_;
};

constexpr u32 MAX_LISTED_TPCS = 65536; // numbers in a list are below
// What a list of TPCs may be, for messages.
constexpr char TPC_FORMS[] = "0-9,12, 0x3ff, gpc:2,3, half:a or all";
// Parses "0x" and any number of hexadecimal digits. Returns the TPCs, ascending; nullopt if the text has another form.
std::optional<std::vector<u32>> parse_mask(const std::string &text);
// Parses numbers below limit and ranges of them: "0-9,12". Returns them in the order of the text; nullopt if the text has
// another form.
std::optional<std::vector<u32>> parse_numbers(const std::string &text, u32 limit);

} // namespace tool::plan
