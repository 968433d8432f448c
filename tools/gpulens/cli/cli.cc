// SPDX-License-Identifier: GPL-2.0
// Builds the parser and the help from the table of commands, and runs what a command line names.
#include "gpulens/cli/cli.hpp"

#include "gpulens/cli/options.hpp"
#include "gpulens/cli/texts.hpp"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <stdexcept>
#include <unistd.h>

namespace tool {

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

// Returns the place of a command in the help: of its heading, and below it.
std::pair<size_t, size_t> place_of(const Program &program, std::string_view command)
{
	for (size_t i = 0; i < program.headings.size(); i++) {
		const std::vector<std::string_view> &below = program.headings[i].second;
		if (auto at = std::ranges::find(below, command); at != below.end())
			return {i, at - below.begin()};
	}
	throw std::logic_error("a command without a heading");
}

// The options of app that a command takes as well, for the command's help.
std::string common_options_text(const CLI::App &app, bool json)
{
	std::vector<std::string> names;

	for (const CLI::Option *option : app.get_options())
		if (json || option->get_single_name() != "json")
			if (option->get_single_name() != "help")
				names.push_back(option->get_name(false, true));
	return fmt::format("\nOptions of every command, which {} help describes:\n  {}\n", app.get_name(),
			   fmt::join(names, "  "));
}

void refuse_json(const CLI::App &app, const Commands &commands)
{
	for (const CLI::App *parser : app.get_subcommands())
		for (const Command &command : commands)
			if (command.no_json && command.name == parser->get_name())
				throw CLI::ValidationError(
					"--json", fmt::format("{} has no JSON; {}", command.name, command.no_json));
}

int run_command(const Program &program, std::vector<std::string> words)
{
	CommandLine line;
	std::unique_ptr<CLI::App> app = build_cli(program, line);

	if (!words.empty() && words.front() == "--complete")
		return print_text(completions_text(*app, {words.begin() + 1, words.end()})) ? EXIT_DONE : EXIT_PART;
	if (words.size() > 1 && words.front() == "help") {
		words.erase(words.begin());
		words.emplace_back("--help");
	}
	if (words == std::vector<std::string>{"help"})
		return print_text(command_list_text(program, *app)) ? EXIT_DONE : EXIT_PART;
	try {
		app->parse(std::vector<std::string>(words.rbegin(), words.rend())); // last word first
	} catch (const CLI::Success &e) {
		int status = app->exit(e);
		std::cout.flush();
		return std::cout && !std::fflush(stdout) ? status : EXIT_PART;
	} catch (const CLI::ParseError &e) {
		std::fprintf(stderr, "%s: %s\n", program.name, explain_usage(*app, e).c_str());
		return EXIT_USAGE;
	}
	if (!app->get_subcommands().empty())
		return line.status;
	if (program.run_without_command)
		return program.run_without_command(line.options);
	return print_text(app->help()) ? EXIT_DONE : EXIT_PART;
}

} // namespace

Commands join_commands(std::initializer_list<Commands (*)()> groups)
{
	Commands all;

	for (Commands (*group)() : groups)
		for (Command &command : group())
			all.push_back(std::move(command));
	return all;
}

std::unique_ptr<CLI::App> build_cli(const Program &program, CommandLine &line)
{
	auto app = std::make_unique<CLI::App>(program.about, program.name);
	Commands commands = program.commands;

	app->formatter_fn([&program](const CLI::App *about, const std::string &before, CLI::AppFormatMode mode) {
		return help_text(program, *about, before, mode == CLI::AppFormatMode::All);
	});
	app->fallthrough();
	app->require_subcommand(0, 1);
	app->set_help_flag("-h,--help", "print examples and options, and exit");
	add_common_options(*app, line.options);
	std::ranges::sort(commands, {}, [&](const Command &command) { return place_of(program, command.name); });
	for (const Command &command : commands) {
		CLI::App *parser = app->add_subcommand(command.name, command.about);
		parser->group(program.headings[place_of(program, command.name).first].first)
			->footer(footer_of(command.examples) + common_options_text(*app, !command.no_json));
		command.add(*parser, line);
	}
	// Runs when all options are known, and before the command.
	app->parse_complete_callback([&line, commands, parser = app.get()] {
		if (line.options.json)
			refuse_json(*parser, commands);
	});
	app->set_version_flag("-V,--version", fmt::format("{} " GPULENS_RELEASE, program.name),
			      "print the version and exit");
	app->set_help_all_flag("--help-all", "print the help of all commands and exit");
	app->footer(footer_of(program.examples) +
		    fmt::format("\n{} help: each command in a line; COMMAND --help: its options\n", program.name));
	return app;
}

int run_program(const Program &program, const std::vector<std::string> &words)
{
	// A file that is opened later would be taken for one of these.
	for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd ? O_WRONLY : O_RDONLY);
	try {
		return run_command(program, words);
	} catch (const Error &e) {
		std::fprintf(stderr, "%s: %s\n", program.name, e.what());
		return exit_status(e.code);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s: %s\n", program.name, e.what());
		return EXIT_SOURCE;
	}
}

} // namespace tool
