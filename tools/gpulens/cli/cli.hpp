// SPDX-License-Identifier: GPL-2.0
// The command line of gpulens, built from the table of commands: for the program (main.cc), and for the manual pages and
// completions that are generated from it (docs/docs.cc).
#pragma once
#include "gpulens/cli/commands.hpp"

#include <memory>
#include <vector>

namespace tool {

struct ExitStatus {
	const char *code, *meaning;
};
extern const std::vector<ExitStatus> EXIT_STATUS;

// Of gpulens without a command.
extern const std::vector<const char *> EXAMPLES;

// Parsing with the result fills line and runs the command that is named.
std::unique_ptr<CLI::App> build_cli(const Commands &commands, CommandLine &line);
// Returns a note where one of the words is an older name of the command that was run; else an empty text.
std::string explain_old_name(const CLI::App &app, const std::vector<std::string> &words);

} // namespace tool
