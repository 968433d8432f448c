// SPDX-License-Identifier: GPL-2.0
// The masks of a scenario, sm_mask of cuda_scheduling_examiner: the TPCs that a kernel may use. They number TPCs as
// libsmctrl does: TPC n has the SMs with %smid / (SMs per TPC) = n.
#pragma once

#include <bitset>
#include <gpulens/types.h>
#include <optional>
#include <string>

namespace tool::blocks {

constexpr u32 MAX_TPCS = 128;         // bits of libsmctrl's widest masks
using TpcSet = std::bitset<MAX_TPCS>; // a set bit: the TPC may be used

// Parses the framework's text: "0x3e" disables TPCs 1 to 5, "~0x3e" all others. As libsmctrl's masks, a mask of up to 16
// digits has 64 bits and one of up to 32 digits has 128; TPCs beyond are disabled. nullopt: another text.
std::optional<TpcSet> parse_sm_mask(const std::string &text);
// Returns the text with "~".
std::string sm_mask_text(const TpcSet &tpcs);

} // namespace tool::blocks
