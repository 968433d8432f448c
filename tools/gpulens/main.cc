// SPDX-License-Identifier: GPL-2.0
// gpulens: parses the command line of cli.cc and runs the command. What each does is in the files named after them.
#include "gpulens/cli.hpp"

#include <cstdio>
#include <exception>

namespace {

int run(int argc, char **argv)
{
	tool::Arguments a;
	int status = tool::EXIT_DONE;
	std::unique_ptr<CLI::App> app = tool::build_cli(a, status);

	try {
		app->parse(argc, argv);
	} catch (const CLI::Success &e) {
		return app->exit(e);
	} catch (const CLI::ParseError &e) {
		std::fprintf(stderr, "gpulens: %s\ngpulens --help says more.\n", e.what());
		return tool::EXIT_USAGE;
	}
	return app->get_subcommands().empty() ? tool::show(tool::Show::Overview, a.options) : status;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return run(argc, argv);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens: %s\n", e.what());
		return tool::EXIT_SOURCE;
	}
}
