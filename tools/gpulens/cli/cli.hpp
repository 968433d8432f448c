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

} // namespace tool
