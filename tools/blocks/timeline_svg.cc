// SPDX-License-Identifier: GPL-2.0
// See timeline_svg.hpp.
#include "blocks/timeline_svg.hpp"

namespace tool::blocks {

std::string timeline_svg(const Log &, Colours)
{
	return {};
}

} // namespace tool::blocks
