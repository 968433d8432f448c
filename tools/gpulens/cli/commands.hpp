// SPDX-License-Identifier: GPL-2.0
// The table of commands. A new command is a row and the function that adds its options, in the file of its group here.
#pragma once
#include "gpulens/cmd/run.hpp"
#include "gpulens/out/output.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// Result of parsing a command line.
struct CommandLine {
	Options options;        // those of every command
	int status = EXIT_DONE; // exit status of the command, which runs at the end of parsing
};

struct Command {
	const char *name, *about;
	std::vector<const char *> examples;
	// Adds the options to the command's parser, and a callback that runs the command and stores its exit status in line,
	// which outlives the parser.
	std::function<void(CLI::App &parser, CommandLine &line)> add;
	// Where the command has no JSON, so that --json is refused: what to use instead.
	const char *no_json = nullptr;
};

using Commands = std::vector<Command>;

// The rows of each group. top and export are separate groups in the help, although their rows are in record.cc.
Commands show_commands();
Commands record_commands();
Commands run_commands();
Commands control_commands();
Commands top_commands();
Commands plan_commands();
Commands amd_commands();
Commands measure_commands();
Commands export_commands();

// Starts the program of gpulens run. limit: TPCs, as limit_program() takes them; nothing: no limit.
using StartProgram =
	std::function<int(const Options &options, const std::optional<std::string> &limit, RunOptions &run)>;
// The add function of run, with a start function that tests replace.
void add_run(CLI::App &parser, CommandLine &line, const StartProgram &start);

} // namespace tool
