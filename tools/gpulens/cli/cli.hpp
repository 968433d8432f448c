// SPDX-License-Identifier: GPL-2.0
// The command line of a program, built from its table of commands: for the program, and for the manual pages and completions
// that are generated from it (docs/docs.cc).
#pragma once
#include "gpulens/cli/commands.hpp"

#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace tool {

struct ExitStatus {
	const char *code, *meaning;
};

struct Program {
	const char *name, *about;
	std::vector<std::pair<const char *, std::vector<std::string_view>>> headings; // of the help, and commands below
	Commands commands;                                                            // each below a heading
	std::vector<const char *> examples;                                           // without a command
	std::vector<ExitStatus> statuses;
	std::function<int(const Options &options)> run_without_command{}; // none: the help
};
Program gpulens_program();

// Returns the rows of all groups.
Commands join_commands(std::initializer_list<Commands (*)()> groups);

// Parsing with the result fills line and runs the command that is named. The program outlives it.
std::unique_ptr<CLI::App> build_cli(const Program &program, CommandLine &line);
// Runs what the words of a command line name: "help COMMAND" is "COMMAND --help". Returns the exit status.
int run_program(const Program &program, const std::vector<std::string> &words);

} // namespace tool
