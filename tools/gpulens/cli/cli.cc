// SPDX-License-Identifier: GPL-2.0
// Builds the parser and the help from the table of commands.
#include "gpulens/cli/cli.hpp"

#include "gpulens/cli/help.hpp"
#include "gpulens/cli/options.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tool {

const std::vector<ExitStatus> EXIT_STATUS = {
	{"0", "success"},
	{"1", "something could not be read or decoded (see standard error), --check found a hazard or a violated rule, "
	      "--within a block outside, verify a violation, a plan does not fit, or experiment did not see a rule"},
	{"2", "wrong usage, or an invalid file of tasks, scenario or log"},
	{"3", "no GPU to show: the module is not loaded, or the file is missing or not an image"},
	{"4", "a request was refused or failed; run: the program was not started, or was killed, because its TPC limit "
	      "could not be enforced"},
	{"5", "isolation --check found no hazard, but could not determine whether there is one; verify, experiment: "
	      "what was seen is not enough for a verdict"},
};

const std::vector<const char *> EXAMPLES = {
	"gpulens                          overview of every GPU of this machine",
	"gpulens -g 0 runlists 0          runlist 0 of GPU 0",
	"gpulens -i gpu.image engines     engines of a recorded GPU; -i can be repeated",
	"gpulens isolation --check        exit status 1 where tasks can disturb others",
	"gpulens channels --json | jq '.gpus[0].channels[] | select(.state.running)'",
};

namespace {

std::string footer_of(const std::vector<const char *> &examples)
{
	std::string text = "Examples:\n";

	for (std::string_view line : examples) {
		size_t remark = line.find("    ");
		if (line.size() + 2 > HELP_WIDTH && remark != line.npos)
			text += fmt::format("  {}\n        {}\n", line.substr(0, remark),
					    line.substr(line.find_first_not_of(' ', remark)));
		else
			text += fmt::format("  {}\n", line);
	}
	return text;
}

// The headings of the help, in its order.
const std::pair<const char *, std::vector<std::string_view>> GROUPS[] = {
	{"Look",
	 {"chip", "engines", "runlists", "channels", "copy-engines", "gpcs", "isolation", "partitions", "proc"}},
	{"Watch", {"top", "record", "report", "export"}},
	{"Control",
	 {"disable", "enable", "preempt", "preempt-runlist", "preemption-mode", "switch-to", "resubmit", "timeslice"}},
	{"Share", {"run", "schedule", "simulate", "plan", "fit"}},
	{"Measure", {"verify", "sweep", "load", "probe-kernels", "blocks", "tenants", "experiment"}},
	{"AMD", {"amd", "masks"}},
};

// Names of an older version: they work, and are not in the help.
const std::pair<const char *, const char *> OLD_NAMES[] = {
	{"copy", "copy-engines"}, {"preemption", "preemption-mode"}, {"neighbour", "load"}};

// Returns the place of a command in that order: of its heading, and below it.
std::pair<size_t, size_t> place_of(std::string_view command)
{
	for (size_t i = 0; i < std::size(GROUPS); i++)
		if (auto at = std::ranges::find(GROUPS[i].second, command); at != GROUPS[i].second.end())
			return {i, at - GROUPS[i].second.begin()};
	throw std::logic_error("a command without a heading in GROUPS");
}

// The options of app that a command takes as well, for the command's help.
std::string common_options_text(const CLI::App &app, bool json)
{
	std::vector<std::string> names;

	for (const CLI::Option *option : app.get_options())
		if (json || option->get_single_name() != "json")
			if (option->get_single_name() != "help")
				names.push_back(option->get_name(false, true));
	return fmt::format("\nOptions of every command, which gpulens help describes:\n  {}\n", fmt::join(names, "  "));
}

void refuse_json(const CLI::App &app, const Commands &commands)
{
	for (const CLI::App *parser : app.get_subcommands())
		for (const Command &command : commands)
			if (command.no_json && command.name == parser->get_name())
				throw CLI::ValidationError(
					"--json", fmt::format("{} has no JSON; {}", command.name, command.no_json));
}

} // namespace

Commands all_commands()
{
	Commands all;

	for (const auto &group :
	     {show_commands, record_commands, run_commands, control_commands, top_commands, plan_commands, amd_commands,
	      blocks_commands, measure_commands, experiment_commands, export_commands}) {
		Commands rows = group();
		std::move(rows.begin(), rows.end(), std::back_inserter(all));
	}
	std::ranges::sort(all, {}, [](const Command &command) { return place_of(command.name); });
	return all;
}

std::string explain_old_name(const CLI::App &app, const std::vector<std::string> &words)
{
	for (const CLI::App *command : app.get_subcommands())
		for (const std::string &old : command->get_aliases())
			if (std::ranges::find(words, old) != words.end() &&
			    std::ranges::find(words, command->get_name()) == words.end())
				return fmt::format("{} is {} now", old, command->get_name());
	return "";
}

std::unique_ptr<CLI::App> build_cli(const Commands &commands, CommandLine &line)
{
	auto app = std::make_unique<CLI::App>("Show and control how NVIDIA GPUs schedule work.", "gpulens");

	app->formatter_fn([](const CLI::App *about, const std::string &before, CLI::AppFormatMode mode) {
		return help_text(*about, before, mode == CLI::AppFormatMode::All);
	});
	app->fallthrough();
	app->require_subcommand(0, 1);
	app->set_help_flag("-h,--help", "print examples and options, and exit");
	add_common_options(*app, line.options);
	for (const Command &command : commands) {
		CLI::App *parser = app->add_subcommand(command.name, command.about);
		parser->group(GROUPS[place_of(command.name).first].first)
			->footer(footer_of(command.examples) + common_options_text(*app, !command.no_json));
		command.add(*parser, line);
		for (const auto &[old, now] : OLD_NAMES)
			if (parser->get_name() == now)
				parser->alias(old);
	}
	// Runs when all options are known, and before the command.
	app->parse_complete_callback([&line, commands, parser = app.get()] {
		if (line.options.json)
			refuse_json(*parser, commands);
	});
	app->set_version_flag("-V,--version", "gpulens " GPULENS_RELEASE, "print the version and exit");
	app->set_help_all_flag("--help-all", "print the help of all commands and exit");
	app->footer(footer_of(EXAMPLES) +
		    "\ngpulens help: each command in a line; gpulens COMMAND --help: its options\n");
	return app;
}

} // namespace tool
