// SPDX-License-Identifier: GPL-2.0
// What ends a command: no GPU or file to be had, or a user's file that says what cannot be.
#pragma once
#include <stdexcept>

namespace tool {

// Why there is no GPU to show, for a person: what file, what that errno means here, what to do.
struct SourceError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// File, item and reason. The program ends with EXIT_USAGE.
struct BadInput : std::runtime_error {
	using std::runtime_error::runtime_error;
};

} // namespace tool
