// SPDX-License-Identifier: GPL-2.0
// The command line of probe-kernels and blocks. See cli_options.hpp.
#include "gpulens/cli_options.hpp"

namespace tool {

namespace {

void add_probe(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand(
		"probe-kernels", "kernels on a GPU, through CUDA, and when each of their blocks ran on which SM");
	blocks::ProbeOptions &to = a.probe;

	sub->add_option("SCENARIO", to.scenario, "what to launch: a file, docs/blocks.md, or a name that --list has");
	sub->add_flag("--list", to.list, "the scenarios that come with gpulens");
	sub->add_option("-o,--output", to.file, "the log, for blocks; - is standard output")->type_name("FILE");
	sub->add_option("--logs", to.folder, "a file for each stream, as cuda_scheduling_examiner writes them")
		->type_name("DIR")
		->check(CLI::ExistingDirectory.description(""));
	sub->add_flag("--print", to.print, "only prints the scenario, as a file of one's own may have it");
	CLI::Option *simulate = sub->add_flag("--simulate", to.simulate,
					      "no GPU: by the rules A to D, which blocks --check holds logs against");
	sub->add_option("--sms", to.simulated.sms, "of the simulated GPU, 2 when not given")
		->type_name("N")
		->check(CLI::Range(1U, 1024U))
		->needs(simulate);
	sub->add_option("--threads-per-sm", to.simulated.threads_per_sm, "of the simulated GPU, 2048 when not given")
		->type_name("N")
		->check(CLI::Range(256U, 4096U))
		->needs(simulate);
	sub->add_option("--connections", to.program.connections,
			"CUDA_DEVICE_MAX_CONNECTIONS: so many channels for compute; 8 by default")
		->type_name("N")
		->check(CLI::Range(1U, 32U));
	sub->add_option("--device", to.program.device, "the GPU, as CUDA counts them; 0 when not given")
		->type_name("N")
		->excludes(simulate);
	sub->add_option("--program", to.program.path, "another program with the kernels than the installed one")
		->type_name("FILE")
		->excludes(simulate);
	sub->callback([&a, &status] {
		if (a.probe.list == !a.probe.scenario.empty())
			throw CLI::ValidationError("probe-kernels", "either SCENARIO or --list is wanted");
		status = blocks::probe_command(a.options, a.probe);
	});
}

void add_picture(CLI::App &app, Arguments &a, int &status)
{
	CLI::App *sub = app.add_subcommand("blocks", "what probe-kernels wrote: in short, as a picture, by the rules");
	blocks::BlocksOptions &to = a.blocks;

	sub->add_option("LOG", to.logs, "a log, or several of cuda_scheduling_examiner; - is standard input")
		->required();
	sub->add_option("-o,--output", to.file, "FILE.svg: time to the right, a row for each SM")
		->type_name("FILE")
		->check(CLI::Validator(
			[](std::string &name) { return name.ends_with(".svg") ? "" : "not .svg: " + name; }, ""));
	add_choice<blocks::Colours>(sub, "--colour-by", to.by,
				    {{"kernel", blocks::Colours::Kernel}, {"stream", blocks::Colours::Stream}}, "WHAT",
				    "kernel or stream, which it is when not given");
	sub->add_flag("--used", to.used, "a picture of the SMs alone that a block ran on");
	CLI::Option *check = sub->add_flag(
		"--check", to.check,
		"exit status 1 where blocks did not keep to the rules. A: no block starts before its kernel is "
		"launched, "
		"nor before the kernel ahead of it in its stream has begun all blocks. D: nor before that has ended. "
		"B: "
		"kernels begin in the order in which they came to the head of their streams, and at once where a block "
		"fits. C: one begins when all blocks of those before it have begun. B2: no SM holds more threads or "
		"blocks than it can. R2: no more streams are at it than there are channels; with more streams in all, "
		"B "
		"and C are not looked at. docs/blocks.md");
	add_duration(sub, "--tolerance", to.tolerance_ns, 1000000000,
		     "what is closer is of no order, 50us when not given")
		->needs(check);
	sub->add_option("--channels", to.channels, "for compute, in place of the log's; 8 where it does not say")
		->type_name("N")
		->check(CLI::Range(1U, 1024U));
	sub->callback([&a, &status] { status = blocks::blocks_command(a.options, a.blocks); });
}

} // namespace

void add_blocks(CLI::App &app, Arguments &a, int &status)
{
	add_probe(app, a, status);
	add_picture(app, a, status);
}

} // namespace tool
