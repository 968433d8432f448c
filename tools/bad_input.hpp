// SPDX-License-Identifier: GPL-2.0
// What a file of the user's says that cannot be.
#pragma once
#include <stdexcept>

namespace tool {

// File, item and reason. The program ends with EXIT_USAGE.
struct BadInput : std::runtime_error {
	using std::runtime_error::runtime_error;
};

} // namespace tool
