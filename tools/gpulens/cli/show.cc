// SPDX-License-Identifier: GPL-2.0
// The rows of the show commands: chip, engines, runlists, channels, copy-engines, gpcs, isolation, xid, proc, first-card.
#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/cmd/first_card.hpp"
#include "gpulens/cmd/show.hpp"
#include "gpulens/cmd/xid.hpp"
#include "lib/base/nearest_word.hpp"
#include "lib/model/isolation.hpp"
#include "lib/source/image/proc_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace tool {

namespace {

// A command without options of its own.
auto add_show(Show show_command)
{
	return [show_command](CLI::App &parser, CommandLine &line) {
		parser.callback([show_command, &line] { line.status = show_gpus(show_command, line.options); });
	};
}

void add_runlists(CLI::App &parser, CommandLine &line)
{
	auto id = std::make_shared<std::optional<u32>>();

	parser.add_option("Y", *id, "number of the runlist to show (default: all that are not empty)")
		->type_name("")
		->check(number_of("a runlist"));
	parser.callback([id, &line] { line.status = show_gpus(Show::Runlists, line.options, *id); });
}

void add_isolation(CLI::App &parser, CommandLine &line)
{
	auto check = std::make_shared<IsolationCheck>();
	auto refuse_name = [](const std::string &id) {
		return fmt::format("no hazard is named \"{}\"; there are {}", id, fmt::join(HAZARD_IDS, ", "));
	};
	CLI::Option *judge =
		parser.add_flag("--check", check->check,
				"exit with status 1 when a hazard is found, or when different processes or "
				"address spaces share a runlist or physical copy engines; with status 5 "
				"when that could not be determined");

	add_list(parser, "--accept", check->accepted, "HAZARD",
		 "with --check, ignore hazards with this name, such as R8:grce-shares-pce")
		->check(one_of(HAZARD_IDS, refuse_name))
		->needs(judge);
	parser.callback(
		[check, &line] { line.status = show_gpus(Show::Isolation, line.options, std::nullopt, *check); });
}

void add_proc(CLI::App &parser, CommandLine &line)
{
	auto name = std::make_shared<std::string>();

	parser.add_option("NAME", *name,
			  "file of /proc/gpuX: chip, device_info, runlistY, bars, tpc_map, copy_topology, ...; "
			  "without it, the names are listed")
		->type_name("")
		->check(check_that([](const std::string &text) {
			return is_proc_file(text)
				       ? ""
				       : text + " is not a file of /proc/gpuX" + suggestion_of(text, proc_files());
		}));
	parser.callback([name, &line] {
		if (name->empty())
			line.status =
				print_text(fmt::format("{}\n", fmt::join(proc_files(), "\n"))) ? EXIT_DONE : EXIT_PART;
		else
			line.status = show_proc(*name, line.options);
	});
}

void add_xid(CLI::App &parser, CommandLine &line)
{
	auto lines = std::make_shared<std::vector<std::string>>();

	parser.add_option("LINE", *lines, "line of the kernel log (default: standard input)")->type_name("");
	parser.callback([lines, &line] { line.status = explain_xids(*lines, line.options); });
}

void add_first_card(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<FirstCardOptions>();

	parser.add_option("--module", options->module,
			  "file of the module (default: the installed one, or what was built)")
		->type_name("FILE")
		->check(not_an_option());
	parser.add_flag("--runlists", options->runlists,
			"load the module a second time, and read runlists and channels in GPU memory, which stops all "
			"processors for moments");
	parser.add_flag("--yes", options->yes, "do not ask before the module is loaded");
	parser.add_option("-o,--output", options->file,
			  "image to write, with the report in it (default: gpulens-first-card-CHIP.image)")
		->type_name("FILE")
		->check(not_an_option());
	parser.callback([options, &line] {
		refuse_files(line.options, "first-card");
		if (line.options.sources.source)
			throw CLI::ValidationError("--source", "first-card compares all that there are");
		line.status = witness_first_card(line.options, *options);
	});
}

} // namespace

Commands show_commands()
{
	return {
		{"chip",
		 "show the chip, its memory and its units",
		 {"gpulens chip", "gpulens -i gpu.image chip       chip of a recorded GPU"},
		 add_show(Show::Chip)},
		{"engines",
		 "list engines and their runlists",
		 {"gpulens engines", "gpulens engines --json | jq '.gpus[0].engines[] | select(.runlist == 0)'"},
		 add_show(Show::Engines)},
		{"runlists",
		 "list TSGs and channels by runlist",
		 {"gpulens runlists                 all runlists that are not empty",
		  "gpulens -g 0 runlists 0          runlist 0 of GPU 0"},
		 add_runlists},
		{"channels",
		 "list the channels of all runlists, one per line",
		 {"gpulens channels", "watch gpulens -g 0 channels      refresh every two seconds"},
		 add_show(Show::Channels)},
		{"copy-engines",
		 "show which physical copy engines serve each logical copy engine",
		 {"gpulens copy-engines"},
		 add_show(Show::Copy)},
		{"gpcs", "list GPCs and the TPCs of each", {"gpulens gpcs"}, add_show(Show::Gpcs)},
		{"isolation",
		 "list hazards: which tasks can disturb each other, by the rules R1-R8 of RTAS'24",
		 {"gpulens isolation",
		  "gpulens isolation --check        exit status 1 where tasks can disturb each other",
		  "gpulens isolation --check --accept R8:grce-shares-pce"},
		 add_isolation},
		{"xid",
		 "explain error messages (Xid) of NVIDIA's driver: which program, which TSG, and what goes on",
		 {"sudo dmesg | gpulens xid",
		  "gpulens xid 'NVRM: Xid (PCI:0000:26:00): 109, pid=55914, name=re8.exe, Ch 00000046'"},
		 add_xid},
		{"proc",
		 "print a file of /proc/gpuX from an image",
		 {"gpulens -i gpu.image proc runlist0", "gpulens -i gpu.image proc bars"},
		 add_proc,
		 "it prints a file as the module would; chip, engines, runlists, copy-engines and gpcs have JSON"},
		{"first-card",
		 "load the module for a moment, compare what it reads with what the driver says, and unload it",
		 {"sudo gpulens first-card          asks before it loads the module",
		  "sudo gpulens first-card --runlists --yes -o card.image"},
		 add_first_card,
		 "its report is in the file that it writes; gpulens -i FILE --json shows the GPU"},
	};
}

} // namespace tool
