// SPDX-License-Identifier: GPL-2.0
// The command line of gpulens: its commands, options and examples, for the program (main.cc) and for what is generated
// from them, manual pages and completions (docs.cc).
#pragma once
#include "gpulens/blocks/commands.hpp"
#include "gpulens/cmd/control.hpp"
#include "gpulens/cmd/export.hpp"
#include "gpulens/cmd/record.hpp"
#include "gpulens/cmd/run.hpp"
#include "gpulens/cmd/show.hpp"
#include "gpulens/cmd/simulate.hpp"
#include "gpulens/plan/commands.hpp"
#include "gpulens/top/top.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// What was said on the command line.
struct Arguments {
	Options options;
	std::optional<u32> runlist;
	bool check = false;
	std::string proc_file;
	RecordOptions record;
	RunOptions run;
	std::optional<std::string> where;      // its TPCs; nothing: no limit was asked for
	std::function<int(Arguments &)> start; // what run does when all is parsed; the tests put something else there
	std::string recording;
	std::vector<std::string> outputs;
	ControlOptions control;
	ExportOptions exported;
	std::vector<std::string> tsgs;
	TopOptions top;
	u32 max_entries = DEFAULT_MAX_ENTRIES;
	plan::PlanOptions plan;
	bool evaluate = false;
	plan::EvaluateOptions evaluation;
	std::string samples;
	blocks::ProbeOptions probe;
	blocks::BlocksOptions blocks;
};

// The program, on its TPCs alone where some were named.
int start_program(Arguments &a);

// Parsing fills a, runs the command that was named, and leaves in status what to exit with.
std::unique_ptr<CLI::App> build_cli(Arguments &a, int &status);

// A line for each exit status: "0", and when that is.
struct ExitStatus {
	const char *code, *meaning;
};
extern const std::vector<ExitStatus> EXIT_STATUS;

// The lines that show a command in use; "" is gpulens itself. Every command has some.
std::vector<std::string> examples_of(const std::string &command);

} // namespace tool
