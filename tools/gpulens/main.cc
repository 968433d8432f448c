// SPDX-License-Identifier: GPL-2.0
// gpulens: parses the command line, which runs the command that it names; without a command shows an overview.
#include "gpulens/cli/cli.hpp"
#include "gpulens/cmd/show.hpp"

#include <cstdio>
#include <exception>

namespace {

int run_command(int argc, char **argv)
{
	tool::CommandLine line;
	std::unique_ptr<CLI::App> app = tool::build_cli(tool::all_commands(), line);

	try {
		app->parse(argc, argv);
	} catch (const CLI::Success &e) {
		return app->exit(e);
	} catch (const CLI::ParseError &e) {
		std::fprintf(stderr, "gpulens: %s\ngpulens --help lists commands and options.\n", e.what());
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
