// SPDX-License-Identifier: GPL-2.0
// Lays out help. The parser's library would list what options exclude, and wraps nothing.
#include "gpulens/cli/texts.hpp"

#include "gpulens/cli/options.hpp"
#include "gpulens/out/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool {

namespace {

// Where descriptions begin: of options and commands, of groups of commands, and of statuses.
constexpr size_t ABOUT = 26, GROUP_ABOUT = 11, STATUS_ABOUT = 5;

std::string indent_lines(const std::string &text, size_t columns)
{
	std::string out, blanks(columns, ' ');
	bool begins = true;

	for (char c : text) {
		if (begins && c != '\n')
			out += blanks;
		begins = c == '\n';
		out += c;
	}
	return out;
}

// A name and its description beside it from this column on, or below one that is long.
std::string row_text(const std::string &name, const std::string &about, size_t column = ABOUT)
{
	std::string text = indent_lines(wrap_text(about, HELP_WIDTH - column, ""), column);

	if (name.size() + 2 >= column)
		return fmt::format("  {}\n{}\n", name, text);
	return fmt::format("  {:{}}{}\n", name, column - 2, text.substr(std::min(text.size(), column)));
}

std::string name_option(const CLI::Option &option)
{
	std::string name = option.get_name(!option.nonpositional(), true);

	if (takes_value(option) && !option.get_type_name().empty())
		name += ' ' + option.get_type_name();
	return option.get_expected_max() > 1 ? name + " ..." : name;
}

std::string usage_text(const CLI::App &app, const std::string &before)
{
	std::string text = "Usage: " + before + " [OPTIONS]";

	for (const CLI::Option *option : app.get_options())
		if (!option->nonpositional()) {
			std::string name = option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
			text += ' ' + (option->get_required() ? name : '[' + name + ']');
		}
	return text + (app.get_subcommands({}).empty() ? "\n" : " [COMMAND ...]\n");
}

// The arguments, and the options below the heading of each group.
std::string options_text(const CLI::App &app)
{
	std::vector<std::pair<std::string, std::string>> groups = {{"Arguments", ""}};
	std::string text;

	for (const std::string &group : app.get_groups())
		if (group != "Options")
			groups.emplace_back(group, "");
	groups.emplace_back("Options", "");
	for (const CLI::Option *option : app.get_options())
		for (auto &[heading, rows] : groups)
			if (heading == (option->nonpositional() ? option->get_group() : "Arguments"))
				rows += row_text(name_option(*option), option->get_description());
	for (const auto &[heading, rows] : groups)
		if (!rows.empty())
			text += fmt::format("{}{}:\n{}", text.empty() ? "" : "\n", heading, rows);
	return text;
}

std::string screen_text(const CLI::App &app)
{
	std::vector<std::pair<std::string, std::string>> rows; // heading, names
	std::string text = app.get_description() + '\n' + usage_text(app, app.get_name()) + '\n';

	for (const CLI::App *command : app.get_subcommands({})) {
		if (rows.empty() || rows.back().first != command->get_group())
			rows.emplace_back(command->get_group(), "");
		rows.back().second += command->get_name() + ' ';
	}
	rows.emplace_back("Options", "");
	for (const CLI::Option *option : app.get_options())
		rows.back().second += option->get_name(false, true) + ' ';
	for (const auto &[heading, names] : rows)
		text += row_text(heading, names, GROUP_ABOUT);
	return text + '\n' + app.get_footer();
}

} // namespace

std::string command_list_text(const Program &program, const CLI::App &app)
{
	std::string text = app.get_description() + '\n' + usage_text(app, app.get_name()), group;

	for (const CLI::App *command : app.get_subcommands({})) {
		if (command->get_group() != group)
			text += '\n' + (group = command->get_group()) + ":\n";
		text += row_text(command->get_name(), command->get_description());
	}
	text += '\n' + options_text(app) + "\nExit status:\n";
	for (const ExitStatus &e : program.statuses)
		text += row_text(e.code, e.meaning, STATUS_ABOUT);
	return text;
}

std::string help_text(const Program &program, const CLI::App &app, const std::string &before, bool all)
{
	if (app.get_parent())
		return wrap_text(app.get_description(), HELP_WIDTH, "") + '\n' + usage_text(app, before) + '\n' +
		       options_text(app) + '\n' + app.get_footer();
	if (!all)
		return screen_text(app);
	std::string text = command_list_text(program, app);
	for (const CLI::App *command : app.get_subcommands({}))
		text += '\n' + command->get_name() + '\n' +
			indent_lines(wrap_text(command->get_description(), HELP_WIDTH - 2, "") + '\n' +
					     options_text(*command),
				     2);
	return text;
}

} // namespace tool
