// SPDX-License-Identifier: GPL-2.0
// Suggests commands and options, and replaces texts of the parser's library.
#include "gpulens/cli/texts.hpp"

#include "gpulens/cli/options.hpp"
#include "lib/base/nearest_word.hpp"

#include <fmt/format.h>

namespace tool {

namespace {

std::vector<std::string> option_names(const CLI::App &app)
{
	std::vector<std::string> names;

	for (const CLI::Option *option : app.get_options())
		for (const std::string &name : names_of(*option))
			names.push_back(name);
	return names;
}

// command: the one on the command line; nullptr: none.
std::string explain_unexpected(const CLI::App &app, const CLI::App *command, const std::string &argument)
{
	const bool option = argument.size() > 1 && argument[0] == '-';
	std::string word = argument.substr(0, option ? argument.find('=') : argument.npos), what;
	std::vector<std::string> candidates;

	if (option) {
		candidates = option_names(app);
		if (command) {
			std::vector<std::string> own = option_names(*command);
			candidates.insert(candidates.end(), own.begin(), own.end());
		}
		what = fmt::format("{}no option {}", command ? command->get_name() + ": " : "", word);
	} else if (!command) {
		for (const CLI::App *known : app.get_subcommands({}))
			candidates.push_back(known->get_name());
		what = "no command " + word;
	} else {
		return fmt::format("{}: unexpected argument {}", command->get_name(), word);
	}
	return what + suggestion_of(word, candidates);
}

// Replaces texts of CLI11: "Could not convert: Y = x" and "--proc: 1 required DIR missing".
std::string explain_value(const std::string &text)
{
	const std::string begin = "Could not convert: ", needed = ": 1 required ", end = " missing";
	size_t equals = text.find(" = "), at = text.find(needed);

	if (text.starts_with(begin) && equals != text.npos)
		return fmt::format("{}: {} is not a number, or out of range",
				   text.substr(begin.size(), equals - begin.size()), text.substr(equals + 3));
	if (at != text.npos && text.ends_with(end))
		return fmt::format("{}: {} is missing", text.substr(0, at),
				   text.substr(at + needed.size(), text.size() - end.size() - at - needed.size()));
	return text;
}

// Returns whether the text begins with an option of all commands, which only the help of the program describes.
bool is_about_common_option(const CLI::App &app, const std::string &text)
{
	return text.starts_with("-") && app.get_option_no_throw(text.substr(0, text.find_first_of(": ")));
}

} // namespace

std::string explain_usage(const CLI::App &app, const CLI::ParseError &error)
{
	std::vector<CLI::App *> commands = app.get_subcommands();
	const CLI::App *command = commands.empty() ? nullptr : commands.front();
	std::vector<std::string> unexpected = app.remaining(true);
	std::erase(unexpected, "--"); // which the parser keeps
	std::string text =
		unexpected.empty() ? explain_value(error.what()) : explain_unexpected(app, command, unexpected.front());

	if (!command || is_about_common_option(app, text))
		return fmt::format("{}\n{} --help lists commands and options.", text, app.get_name());
	return fmt::format("{}\n{} {} --help lists its options.", text, app.get_name(), command->get_name());
}

} // namespace tool
