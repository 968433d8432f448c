// SPDX-License-Identifier: GPL-2.0
// A log as a picture, as in Fig. 3 and 10 of RTAS'23: time to the right, a row for each SM, a rectangle for each block,
// as high as its threads are of what the SM holds; arrows below are launches.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

enum class Colours { Kernel, Stream };

// used: only SMs that a block ran on have a row.
std::string timeline_svg(const Log &log, Colours by, bool used);

} // namespace tool::blocks
