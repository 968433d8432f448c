// SPDX-License-Identifier: GPL-2.0
// Draws a log, as Fig. 3 and 10 of RTAS'23: time to the right, a row for each SM, and a rectangle for each block. A
// rectangle's height is the block's share of the SM's threads. Arrows below the time axis are launches.
#pragma once
#include "gpulens/blocks/within.hpp"

#include <optional>

namespace tool::blocks {

enum class Colours { Kernel, Stream }; // what has a colour of its own

// Returns a complete SVG file. only_used: draw only SMs that ran a block. within: the result of check_within(); rows of SMs
// outside are marked. cpu: also draw what the CPU did for each stream, and copies.
std::string timeline_svg(const Log &log, Colours colour_by, bool only_used,
			 const std::optional<Within> &within = std::nullopt, bool cpu = false);

} // namespace tool::blocks
