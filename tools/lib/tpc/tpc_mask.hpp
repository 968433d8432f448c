// SPDX-License-Identifier: GPL-2.0
// A set of logical TPCs, of any width: GPUs have more than 64. A set bit is a TPC that is in it, as in tpc_map; a
// disabled TPC in gpcX_tpc_mask and in libsmctrl is a set bit too, which disable_hex() is for.
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
	std::string hex() const;         // "0x0ff": as many digits as the GPU's TPCs fill
	std::string disable_hex() const; // all others

private:
	std::vector<bool> bits_;
};

// TPCs of 0x and digits, ascending, however many digits; nullopt: not that.
std::optional<std::vector<u32>> parse_mask(const std::string &text);

} // namespace tool::plan
