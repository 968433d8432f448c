// SPDX-License-Identifier: GPL-2.0
// Explains errors of the command line.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace tool {

// Returns the message of an error of parsing, without a final newline: an unknown command or option with a suggestion, and
// where the help is.
std::string explain_usage(const CLI::App &app, const CLI::ParseError &error);

} // namespace tool
