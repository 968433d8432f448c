// SPDX-License-Identifier: GPL-2.0
// What gpulens partitions is told of this process: tools/applied_page.hpp.
#pragma once
#include <string>

namespace gpulens {

// A JSON list as AppliedPage has it, in place of the one before; what is longer than there is room is not told. From
// the first time on, launches with a mask are counted. Nothing is said of what fails: partitions hold without it.
void announce(const std::string &text);

} // namespace gpulens
