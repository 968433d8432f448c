// SPDX-License-Identifier: GPL-2.0
// What the C interface's struct gpulens_layout is.
#pragma once
#include "gpulens-partition.h"
#include "partition/layout.hpp"

#include <utility>

struct gpulens_layout : gpulens::Layout {
	explicit gpulens_layout(gpulens::Layout &&made) : Layout(std::move(made)) {}
};
