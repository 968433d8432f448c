// SPDX-License-Identifier: GPL-2.0
// The commands of gpulens, and their order in its help.
#include "gpulens/cli/cli.hpp"
#include "gpulens/cmd/show.hpp"

namespace tool {

Program gpulens_program()
{
	return {
		.name = "gpulens",
		.about = "Show and control how NVIDIA GPUs schedule work.",
		.headings =
			{
				{"Look",
				 {"chip", "engines", "runlists", "channels", "copy-engines", "gpcs", "isolation",
				  "partitions", "proc", "xid", "first-card"}},
				{"Watch", {"top", "record", "report", "export"}},
				{"Control",
				 {"disable", "enable", "preempt", "preemption-mode", "switch-to", "resubmit",
				  "timeslice"}},
				{"Share", {"run", "schedule", "plan"}},
				{"Measure", {"verify", "sweep", "fit", "load"}},
				{"AMD", {"amd"}},
			},
		.commands = join_commands({show_commands, record_commands, run_commands, control_commands, top_commands,
					   plan_commands, amd_commands, measure_commands, export_commands}),
		.examples =
			{
				"gpulens                          overview of every GPU of this machine",
				"gpulens -g 0 runlists 0          runlist 0 of GPU 0",
				"gpulens -i gpu.image engines     engines of a recorded GPU; -i can be repeated",
				"gpulens isolation --check        exit status 1 where tasks can disturb others",
				"gpulens channels --json | jq '.gpus[0].channels[] | select(.state.running)'",
			},
		.statuses =
			{
				{"0", "success"},
				{"1",
				 "something could not be read or decoded (see standard error), isolation --check found "
				 "a hazard, verify a violation, or a plan does not fit"},
				{"2", "wrong usage, or an invalid file of tasks or scenario"},
				{"3",
				 "no GPU to show: the module is not loaded, or the file is missing or not an image"},
				{"4",
				 "a request was refused or failed; run: the program was not started, or was killed, "
				 "because its TPC limit could not be enforced"},
				{"5",
				 "isolation --check found no hazard, but could not determine whether there is one; "
				 "verify: what was seen is not enough for a verdict"},
			},
		.run_without_command = [](const Options &options) { return show_gpus(Show::Overview, options); },
	};
}

} // namespace tool
