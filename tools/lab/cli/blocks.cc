// SPDX-License-Identifier: GPL-2.0
// probe-kernels and blocks. See commands.hpp.
#include "lab/blocks/commands.hpp"

#include "gpulens/cli/options.hpp"
#include "lab/cli/commands.hpp"

#include <memory>

namespace tool {

namespace {

void add_probe_kernels(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<blocks::ProbeOptions>();

	parser.add_option("SCENARIO", options->scenario, "file, as in docs/blocks.md, or a name from --list")
		->type_name("");
	parser.add_flag("--list", options->list, "list the built-in scenarios");
	parser.add_option("-o,--output", options->file, "log file, for gpulens-lab blocks; - is standard output")
		->type_name("FILE");
	parser.add_option("--logs", options->folder,
			  "folder for a log of each stream in cuda_scheduling_examiner's format")
		->type_name("DIR")
		->check(CLI::ExistingDirectory.description(""));
	parser.add_flag("--print", options->print, "print the scenario in the format of a scenario file");
	CLI::Option *simulate = parser.add_flag("--simulate", options->simulate,
						"simulate a GPU by the rules of gpulens-lab blocks --check");
	parser.add_option("--sms", options->sms,
			  "SMs of the simulated GPU (default: those of the figure's GPU, else 2)")
		->type_name("N")
		->check(in_range(1U, 1024U))
		->needs(simulate);
	parser.add_option("--threads-per-sm", options->threads_per_sm,
			  "threads per SM of the simulated GPU (default: 2048)")
		->type_name("N")
		->check(in_range(256U, 4096U))
		->needs(simulate);
	parser.add_option("--sms-per-tpc", options->sms_per_tpc,
			  "SMs per TPC of the simulated GPU (default: those of the figure's GPU, else 2)")
		->type_name("N")
		->check(in_range(1U, 16U))
		->needs(simulate);
	parser.add_option("--copy-engines", options->copy_engines,
			  "copy engines of the simulated GPU: 1 for both directions, or 2 (default: 1)")
		->type_name("N")
		->check(in_range(1U, 2U))
		->needs(simulate);
	parser.add_option("--copy-rate", options->copy_rate,
			  "GB/s of each copy engine of the simulated GPU (default: 10, an assumption)")
		->type_name("N")
		->check(in_range(0.001, 100000.0))
		->needs(simulate);
	parser.add_option(
		      "--resident-grids", options->grids,
		      "kernels that can be on the simulated GPU at once (default: those of the figure's GPU, else 128)")
		->type_name("N")
		->check(in_range(1U, 1024U))
		->needs(simulate);
	parser.add_option(
		      "--connections", options->program.connections,
		      "number of compute channels, CUDA_DEVICE_MAX_CONNECTIONS (default: what the built-in scenario "
		      "needs, else 8)")
		->type_name("N")
		->check(in_range(1U, 32U));
	parser.add_option("--channel-order", options->channel_order,
			  "streams, by number (10,9), that get a channel of the simulated GPU before others that wait; "
			  "those get one in the order in which they came")
		->type_name("LIST")
		->delimiter(',')
		->allow_extra_args(false)
		->needs(simulate);
	parser.add_option("--device", options->program.device, "CUDA device number (default: 0)")
		->type_name("N")
		->excludes(simulate);
	parser.add_option("--program", options->program.path,
			  "program that launches the kernels (default: the installed one)")
		->type_name("FILE")
		->excludes(simulate);
	parser.callback([options, &line] {
		if (!line.options.sources.gpus.empty() && !options->simulate && !options->list)
			throw CLI::ValidationError("-g", "probe-kernels takes the device number of CUDA: --device N");
		refuse_gpus(line.options, "probe-kernels");
		if (options->list == !options->scenario.empty())
			throw CLI::ValidationError("probe-kernels", "either SCENARIO or --list is wanted");
		line.status = blocks::probe_command(line.options, *options);
	});
}

void add_blocks(CLI::App &parser, CommandLine &line)
{
	auto options = std::make_shared<blocks::BlocksOptions>();

	parser.add_option("LOG", options->logs,
			  "log of probe-kernels, or logs of cuda_scheduling_examiner; - is standard input")
		->type_name("")
		->required();
	parser.add_option("-o,--output", options->file, "draw the blocks over time to FILE.svg, a row per SM")
		->type_name("FILE")
		->check(file_of({".svg"}));
	parser.add_option("--cdf", options->cdf,
			  "write the times of jobs, kernels and blocks of each stream, ascending, to FILE.csv, or draw "
			  "their distributions to FILE.svg")
		->type_name("FILE")
		->check(file_of({".csv", ".svg"}));
	parser.add_option(
		      "--trace", options->trace,
		      "write the CPU's calls and waits, kernels and copies of each stream as trace events to FILE.json")
		->type_name("FILE")
		->check(file_of({".json"}));
	add_choice<blocks::Colours>(parser, "--colour-by", options->by,
				    {{"kernel", blocks::Colours::Kernel}, {"stream", blocks::Colours::Stream}}, "WHAT",
				    "kernel or stream (default: stream)");
	parser.add_flag("--cpu", options->cpu,
			"draw rows of the CPU's calls and waits by stream, and of copies, above the SMs");
	parser.add_flag("--used", options->used, "draw only SMs that ran a block");
	CLI::Option *check = parser.add_flag(
		"--check", options->check,
		"check the log against the scheduling rules; exit with status 1 on a violation. "
		"A: a block starts only when its kernel has been launched and all blocks of the previous kernel in its "
		"stream have started. "
		"D: and only when that previous kernel has ended. "
		"B: kernels start in the order in which they reached the head of their streams, and as soon as a block "
		"fits. "
		"C: a kernel starts only when all blocks of the kernels before it have started. "
		"B2: no SM holds more threads or blocks than it has room for. "
		"R2: no more streams are active than there are channels; B and C are skipped when there are more "
		"streams "
		"in all. "
		"M: blocks run on the SMs of their kernel's mask. "
		"P: no block starts while a kernel of a higher priority on the same SMs has blocks to start. "
		"S: no block starts while kernels before it hold all task slots (resident grids). "
		"N1, N2: a kernel of the NULL stream starts when all that was launched earlier in blocking streams has "
		"ended, and theirs when all that was launched earlier in the NULL stream has. "
		"C1 to C4: copies wait for what is ahead in their stream and kernels for them, and a copy engine has "
		"one "
		"at a time, in the order in which they came to the heads of their streams. "
		"R4: processes take turns. See docs/blocks.md");
	parser.add_option(
		      "--within", options->within,
		      "name each SM outside of MASK that ran a block, and exit with status 1 if there are any; TPCs "
		      "(0-9,12 or 0x3ff; TPC n has SMs 2n and 2n + 1) or SMs (sm:0-19); --check then expects no "
		      "block on other SMs")
		->type_name("MASK")
		->check(check_that([](const std::string &mask) { return mask.empty() ? "an empty mask" : ""; }));
	add_duration(parser, "--tolerance", options->tolerance_ns, 1000000000,
		     "ignore the order of events closer than this (default: 50us)")
		->needs(check);
	parser.add_option("--channels", options->channels, "number of compute channels (default: as logged, else 8)")
		->type_name("N")
		->check(in_range(1U, 1024U));
	parser.callback([options, &line] {
		refuse_gpus(line.options, "blocks");
		line.status = blocks::blocks_command(line.options, *options);
	});
}

} // namespace

Commands blocks_commands()
{
	return {
		{"probe-kernels",
		 "launch kernels through CUDA, and log when each block ran on which SM",
		 {"gpulens-lab probe-kernels --list",
		  "gpulens-lab probe-kernels fig3.9 -o fig3.9.json    launch kernels on this machine's GPU",
		  "gpulens-lab probe-kernels scenario.json --simulate --sms 132 -o log.json"},
		 add_probe_kernels},
		{"blocks",
		 "summarize, draw or check a log of probe-kernels",
		 {"gpulens-lab blocks fig3.9.json                     when each kernel ran",
		  "gpulens-lab blocks fig3.9.json -o fig3.9.svg",
		  "gpulens-lab blocks --check fig3.9.json             exit status 1 where a rule is violated",
		  "gpulens-lab blocks --within 0-9 log.json           exit status 1 where a block left TPCs 0-9"},
		 add_blocks},
	};
}

} // namespace tool
