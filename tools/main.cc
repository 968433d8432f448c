// SPDX-License-Identifier: GPL-2.0
// gpulens: the command line, and nothing else. What each command does is in show.cc and in the files named after them.
#include "proc_text.hpp"
#include "show.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

namespace {

using tool::Show;

struct Arguments {
	tool::Options options;
	std::optional<u32> runlist;
	bool check = false;
	std::string proc_file;
};

const char EXAMPLES[] =
	"Examples:\n"
	"  gpulens                          every GPU of this machine on a screen each\n"
	"  gpulens -g 0 runlists 0          what is on runlist 0 of GPU 0\n"
	"  gpulens -i gpu.image engines     the same of a recorded GPU; several -i are shown in turn\n"
	"  gpulens isolation --check        exit status 1 where tasks can disturb each other\n"
	"  gpulens channels --json | jq '.gpus[0].channels[] | select(.state.running)'\n"
	"\n"
	"Exit status: 0 all was shown; 1 something could not be read or decoded (named on standard error), or\n"
	"--check found a hazard; 2 wrong usage; 3 no GPU to show; 4 a request was refused or failed.\n";

void add_sources(CLI::App &app, Arguments &a)
{
	app.add_option("-i,--image", a.options.sources.files,
		       "a recorded GPU: /proc/gpuX/image or /proc/gpuX/snapshot saved to a file; - is standard input")
		->type_name("FILE")
		->allow_extra_args(false);
	app.add_option("-g,--gpu", a.options.sources.gpus, "the X of /proc/gpuX; all of them when none is named")
		->type_name("X")
		->allow_extra_args(false);
	app.add_option("--proc", a.options.sources.proc,
		       "where /proc is, for a container that has its host's elsewhere")
		->type_name("DIR");
	app.add_flag("--json", a.options.json, "JSON instead of text; docs/json-schema.json");
	app.add_option("--color", a.options.colour, "auto (a terminal, and no NO_COLOR set), always or never")
		->type_name("WHEN")
		->transform(CLI::CheckedTransformer(std::map<std::string, tool::When>{{"auto", tool::When::Auto},
										      {"always", tool::When::Always},
										      {"never", tool::When::Never}})
				    .description(""));
}

CLI::App *add_show(CLI::App &app, Arguments &a, int &status, const char *name, const char *about, Show what)
{
	CLI::App *sub = app.add_subcommand(name, about);

	sub->callback([&a, &status, what] { status = tool::show(what, a.options, a.runlist, a.check); });
	return sub;
}

void add_commands(CLI::App &app, Arguments &a, int &status)
{
	add_show(app, a, status, "chip", "which chip it is", Show::Chip);
	add_show(app, a, status, "engines", "engines and their runlists", Show::Engines);
	add_show(app, a, status, "runlists", "TSGs and channels, by runlist", Show::Runlists)
		->add_option("Y", a.runlist, "only this runlist");
	add_show(app, a, status, "channels", "all channels of all runlists, a line each", Show::Channels);
	add_show(app, a, status, "copy", "which physical copy engines serve which logical one", Show::Copy);
	add_show(app, a, status, "gpcs", "GPCs, and the TPCs in each", Show::Gpcs);
	add_show(app, a, status, "isolation", "what can disturb what: the rules R1-R8 of RTAS'24 applied to this GPU",
		 Show::Isolation)
		->add_flag("--check", a.check, "exit status 1 when a hazard was found");
	CLI::App *proc = app.add_subcommand("proc", "a file of /proc/gpuX as it would read, from an image");
	proc->add_option("FILE", a.proc_file, "chip, device_info, copy_topology, tpc_map or runlistY")
		->required()
		->check(CLI::Validator(
			[](std::string &name) {
		return tool::is_proc_file(name) ? "" : "not a file that an image gives: " + name;
			},
			""));
	proc->callback([&a, &status] { status = tool::show_proc(a.proc_file, a.options); });
}

int run(int argc, char **argv)
{
	CLI::App app("Shows and steers how NVIDIA GPUs schedule work.", "gpulens");
	Arguments a;
	int status = tool::EXIT_DONE;

	app.footer(EXAMPLES);
	app.fallthrough();
	app.require_subcommand(0, 1);
	add_sources(app, a);
	add_commands(app, a, status);
	try {
		app.parse(argc, argv);
	} catch (const CLI::Success &e) {
		return app.exit(e);
	} catch (const CLI::ParseError &e) {
		std::fprintf(stderr, "gpulens: %s\ngpulens --help says more.\n", e.what());
		return tool::EXIT_USAGE;
	}
	return app.get_subcommands().empty() ? tool::show(Show::Overview, a.options) : status;
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
