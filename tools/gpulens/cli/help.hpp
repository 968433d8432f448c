// SPDX-License-Identifier: GPL-2.0
// The text of help, in 80 columns.
#pragma once
#include "gpulens/cli/cli.hpp"

#include <string>

namespace tool {

constexpr size_t HELP_WIDTH = 80; // columns of a line

// Returns the help of the program, on a screen of 24 lines, or of a command: its options below the headings of their groups.
// before: the words up to the command. all: of the program and each command.
std::string help_text(const Program &program, const CLI::App &app, const std::string &before, bool all);
// Returns gpulens help: each command in a line, and the options of all of them.
std::string command_list_text(const Program &program, const CLI::App &app);

} // namespace tool
