// SPDX-License-Identifier: GPL-2.0
// top on a terminal: drawing and keys.
#pragma once
#include "gpulens/out/output.hpp"
#include "gpulens/top/top.hpp"

namespace tool {

// Until q or a signal. The terminal is as it was afterwards, also when this throws.
int top_screen(const Options &options, const TopOptions &how, unsigned gpu);

} // namespace tool
