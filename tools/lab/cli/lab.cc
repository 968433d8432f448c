// SPDX-License-Identifier: GPL-2.0
// The commands of gpulens-lab, and their order in its help.
#include "lab/cli/commands.hpp"

namespace tool {

Program lab_program()
{
	return {
		.name = "gpulens-lab",
		.about = "Repeat experiments on how NVIDIA GPUs schedule work.",
		.headings = {{"Measure", {"probe-kernels", "blocks", "tenants", "experiment"}},
			     {"Simulate", {"evaluate", "interleave", "warps"}}},
		.commands = join_commands(
			{blocks_commands, experiment_commands, evaluate_commands, interleave_commands, warps_commands}),
		.examples =
			{
				"gpulens-lab experiment --list                  the experiments",
				"gpulens-lab experiment fig6 -o results         measure this machine's GPU",
				"gpulens-lab probe-kernels fig3.13 -o log.json  run kernels, log blocks",
				"gpulens-lab blocks log.json --check            compare the log with the rules",
			},
		.statuses =
			{
				{"0", "success"},
				{"1",
				 "something could not be read or written (see standard error), blocks --check found a "
				 "violated rule, --within a block outside, or experiment did not see a rule"},
				{"2", "wrong usage, or an invalid scenario or log"},
				{"3", "no GPU, or a file or a program is missing"},
				{"4", "a measurement was refused or failed"},
				{"5", "experiment: what was seen is not enough for a verdict"},
			},
	};
}

} // namespace tool
