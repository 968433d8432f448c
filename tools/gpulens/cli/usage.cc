// SPDX-License-Identifier: GPL-2.0
// Suggests commands and options, and replaces texts of the parser's library.
#include "gpulens/cli/usage.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool {

namespace {

// Damerau-Levenshtein distance with adjacent swaps.
size_t distance_of(const std::string &a, const std::string &b)
{
	std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));

	for (size_t i = 0; i <= a.size(); i++)
		for (size_t j = 0; j <= b.size(); j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] =
				std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a.size()][b.size()];
}

std::vector<std::string> option_names(const CLI::App &app)
{
	std::vector<std::string> names;

	for (const CLI::Option *option : app.get_options()) {
		for (const std::string &name : option->get_lnames())
			names.push_back("--" + name);
		for (const std::string &name : option->get_snames())
			names.push_back("-" + name);
	}
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
	std::string meant = nearest_word(word, candidates);
	return what + (meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
}

// "Could not convert: Y = x" of CLI11.
std::string explain_conversion(const std::string &text)
{
	const std::string begin = "Could not convert: ";
	size_t equals = text.find(" = ");

	if (text.compare(0, begin.size(), begin) || equals == text.npos)
		return text;
	return fmt::format("{}: {} is not a number in its range", text.substr(begin.size(), equals - begin.size()),
			   text.substr(equals + 3));
}

} // namespace

std::string nearest_word(const std::string &word, const std::vector<std::string> &candidates)
{
	std::string nearest, longer;
	size_t least = word.size() / 3 + 1, longer_ones = 0;

	for (const std::string &candidate : candidates) {
		if (candidate.compare(0, word.size(), word) == 0 && word.size() > 1) {
			longer = candidate;
			longer_ones++;
		}
		size_t distance = distance_of(word, candidate);
		if (distance < least) {
			least = distance;
			nearest = candidate;
		} else if (distance == least) {
			nearest.clear();
		}
	}
	return longer_ones == 1 ? longer : nearest;
}

std::string explain_usage(const CLI::App &app, const CLI::ParseError &error)
{
	std::vector<CLI::App *> commands = app.get_subcommands();
	const CLI::App *command = commands.empty() ? nullptr : commands.front();
	std::vector<std::string> unexpected = app.remaining(true);
	std::erase(unexpected, "--"); // which the parser keeps
	std::string text = unexpected.empty() ? explain_conversion(error.what())
					      : explain_unexpected(app, command, unexpected.front());

	if (!command || unexpected.empty())
		return text + "\ngpulens --help lists commands and options.";
	return fmt::format("{}\ngpulens {} --help lists its options.", text, command->get_name());
}

} // namespace tool
