// SPDX-License-Identifier: GPL-2.0
// gpulens: parses the command line, which runs the command that it names; without a command shows an overview.
#include "gpulens/cli/cli.hpp"
#include "gpulens/cli/help.hpp"
#include "gpulens/cli/usage.hpp"
#include "gpulens/cmd/show.hpp"

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

// The words of the command line, last word first, as the parser takes them. "help COMMAND" becomes "COMMAND --help".
std::vector<std::string> words_of(int argc, char **argv)
{
	std::vector<std::string> words;

	for (int i = argc - 1; i > 0; i--)
		words.emplace_back(argv[i]);
	if (words.size() > 1 && words.back() == "help") {
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

	if (words == std::vector<std::string>{"help"})
		return tool::print_text(tool::command_list_text(*app)) ? tool::EXIT_DONE : tool::EXIT_PART;
	try {
		app->parse(std::vector<std::string>(words));
		if (std::string note = tool::explain_old_name(*app, words); !note.empty())
			std::fprintf(stderr, "gpulens: %s\n", note.c_str());
	} catch (const CLI::Success &e) {
		int status = app->exit(e);
		std::cout.flush();
		return std::cout && !std::fflush(stdout) ? status : tool::EXIT_PART;
	} catch (const CLI::ParseError &e) {
		std::fprintf(stderr, "gpulens: %s\n", tool::explain_usage(*app, e).c_str());
		return tool::EXIT_USAGE;
	}
	return app->get_subcommands().empty() ? tool::show_gpus(tool::Show::Overview, line.options) : line.status;
}

} // namespace

int main(int argc, char **argv)
{
	// A file that is opened later would be taken for one of these.
	for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd ? O_WRONLY : O_RDONLY);
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
