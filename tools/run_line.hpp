// SPDX-License-Identifier: GPL-2.0
// The lines that rm/preload.cc writes about a program, which anybody else may have written in its place.
#pragma once
#include "run.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tool {

// A line of JSON for each time that a TSG became another one; the last of each is taken. name: of the file, for messages.
// Throws SourceError.
std::vector<RunTsg> run_lines(std::string_view text, const std::string &name);

} // namespace tool
