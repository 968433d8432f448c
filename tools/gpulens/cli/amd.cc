// SPDX-License-Identifier: GPL-2.0
// amd. See commands.hpp.
#include "gpulens/cli/commands.hpp"
#include "gpulens/cli/options.hpp"
#include "gpulens/cmd/amd_queues.hpp"

#include <memory>

namespace tool {

namespace {

void add_amd(CLI::App &parser, CommandLine &line)
{
	auto arguments = std::make_shared<AmdOptions>();

	parser.add_option("PART", arguments->part,
			  "gpus, queues (of processes), runlist, or slots (hardware queues) (default: all)")
		->type_name("")
		->check(one_of({"gpus", "queues", "runlist", "slots"}));
	parser.add_option("--from", arguments->root, "read DIR/sys/... instead of /sys/...: a copy of the files")
		->type_name("DIR")
		->check(not_an_option());
	parser.callback([arguments, &line] {
		if (!line.options.sources.files.empty() || !line.options.sources.gpus.empty())
			throw CLI::ValidationError("amd",
						   "it reads AMD's GPUs only, and has neither -i nor -g; see --from");
		line.status = show_amd(line.options, *arguments);
	});
}

} // namespace

Commands amd_commands()
{
	return {{"amd",
		 "show queues, runlists and hardware queues of AMD GPUs; not yet tried on one",
		 {"gpulens amd gpus                 GPUs, without privilege",
		  "sudo gpulens amd                 all: queues of processes, runlists and hardware queues",
		  "gpulens amd slots --from copy/   from a copy of the kernel's files"},
		 add_amd}};
}

} // namespace tool
