// SPDX-License-Identifier: GPL-2.0
// gpulens: parses the command line, which runs the command that it names; without a command shows an overview.
#include "gpulens/cli/cli.hpp"
#include "gpulens/cli/usage.hpp"
#include "gpulens/cmd/show.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

// The words of the command line, last word first, as the parser takes them. "help COMMAND" becomes "COMMAND --help".
std::vector<std::string> words_of(int argc, char **argv)
{
	std::vector<std::string> words;

	for (int i = argc - 1; i > 0; i--)
		words.emplace_back(argv[i]);
	if (!words.empty() && words.back() == "help") {
		words.pop_back();
		words.insert(words.begin(), "--help");
	}
	return words;
}

int run_command(int argc, char **argv)
{
	std::vector<std::string> words = words_of(argc, argv);
	tool::CommandLine line;
	std::unique_ptr<CLI::App> app = tool::build_cli(tool::all_commands(), line);

	try {
		app->parse(std::move(words));
	} catch (const CLI::Success &e) {
		return app->exit(e);
	} catch (const CLI::ParseError &e) {
		std::fprintf(stderr, "gpulens: %s\n", tool::explain_usage(*app, e).c_str());
		return tool::EXIT_USAGE;
	}
	return app->get_subcommands().empty() ? tool::show_gpus(tool::Show::Overview, line.options) : line.status;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return run_command(argc, argv);
	} catch (const tool::Error &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return tool::exit_status(e.code);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return tool::EXIT_SOURCE;
	}
}
