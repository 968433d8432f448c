// SPDX-License-Identifier: GPL-2.0
// The row of interleave.
#include "gpulens/cli/options.hpp"
#include "lab/cli/commands.hpp"
#include "lab/interleave.hpp"
#include "lib/base/errors.hpp"

#include <memory>

namespace tool {

namespace {

struct InterleaveArguments {
	std::vector<std::string> tsgs;
	u32 max_entries = DEFAULT_MAX_ENTRIES;
};

void add_interleave(CLI::App &parser, CommandLine &line)
{
	auto arguments = std::make_shared<InterleaveArguments>();

	parser.add_option("TSG", arguments->tsgs, "NAME:LEVEL[:SLICE_US[:CHANNELS]]; LEVEL is low, medium or high")
		->type_name("")
		->required();
	parser.add_option("--max-entries", arguments->max_entries, "maximum length of the runlist")->type_name("N");
	parser.callback([arguments, &line] {
		refuse_gpus(line.options, "interleave");
		try {
			Simulation s = interleave_tsgs(parse_tsgs(arguments->tsgs), arguments->max_entries);
			bool shown = print_text(line.options.json ? json_text(simulate_json(s)) : simulate_text(s));
			line.status = shown && !s.overflows ? EXIT_DONE : EXIT_PART;
		} catch (const Error &e) {
			throw CLI::ValidationError("TSG", e.what());
		}
	});
}

} // namespace

Commands interleave_commands()
{
	return {
		{"interleave",
		 "build the runlist that NVIDIA's Tegra driver makes of interleaved TSGs, and their longest waits",
		 {"gpulens-lab interleave render:high batch:low",
		  "gpulens-lab interleave render:high:2000 batch:low:1000:4 --max-entries 64"},
		 add_interleave},
	};
}

} // namespace tool
