// SPDX-License-Identifier: GPL-2.0
// Explains errors of the command line.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tool {

// Returns the candidate that a mistyped word most likely means: the one with the fewest changed, added, left out or swapped
// characters, at most a third of the word's; or the only one that begins with the word. Empty if there is none, or two are
// equally near.
std::string nearest_word(const std::string &word, const std::vector<std::string> &candidates);

// Returns the message of an error of parsing, without a final newline: an unknown command or option with a suggestion, and
// where the help is.
std::string explain_usage(const CLI::App &app, const CLI::ParseError &error);

} // namespace tool
