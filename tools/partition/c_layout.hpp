// SPDX-License-Identifier: GPL-2.0
// What the C interface's struct gpulens_layout and its numbers of methods are.
#pragma once
#include "gpulens-partition.h"
#include "partition/work.hpp"

#include <fmt/format.h>

#include <utility>

struct gpulens_layout : gpulens::Layout {
	explicit gpulens_layout(gpulens::Layout &&made) : Layout(std::move(made)) {}
};

namespace gpulens {

// Returns the method of an enum gpulens_way. Throws Error (Input) for another number.
inline Method method_of(unsigned way)
{
	if (way > GPULENS_GREEN_CLUSTERS)
		throw tool::Error(tool::Error::Input, fmt::format("unknown method {}", way));
	return static_cast<Method>(way);
}

} // namespace gpulens
