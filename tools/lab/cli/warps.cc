// SPDX-License-Identifier: GPL-2.0
// The row of warps.
#include "lab/warps.hpp"

#include "gpulens/cli/options.hpp"
#include "lab/cli/commands.hpp"
#include "lib/base/errors.hpp"

#include <memory>

namespace tool {

namespace {

struct WarpArguments {
	std::vector<std::string> kernels;
	std::string latencies;
	bool printed = false;
};

// Runs all policies. Returns the exit status.
int simulate_all_policies(const WarpArguments &arguments, const Options &options)
{
	std::vector<WarpKernel> kernels =
		arguments.kernels.empty() ? default_warp_kernels() : parse_warp_kernels(arguments.kernels);
	std::vector<u32> latencies =
		arguments.latencies.empty() ? default_latencies() : parse_latencies(arguments.latencies);
	std::vector<WarpRun> runs;

	for (WarpPolicy policy : {WarpPolicy::Lrr, WarpPolicy::Gto, WarpPolicy::RtPaws})
		runs.push_back(simulate_warps(kernels, latencies, policy,
					      arguments.printed ? Budget::Printed : Budget::EveryStall));
	return print_text(options.json ? json_text(warps_json(kernels, latencies, runs)) : warps_text(kernels, runs))
		       ? EXIT_DONE
		       : EXIT_PART;
}

void add_warps(CLI::App &parser, CommandLine &line)
{
	auto arguments = std::make_shared<WarpArguments>();

	parser.add_option("KERNEL", arguments->kernels, "NAME:WARPS:PRIORITY[:START_CYCLE] (default: K1:2:1 K2:2:2:1)")
		->type_name("");
	parser.add_option("--latencies", arguments->latencies, "cycles of each instruction (default: 3,1,1,7,1,1)")
		->type_name("LIST");
	parser.add_flag("--printed-budget", arguments->printed,
			"budgets of RT-PAWS as Algorithm 5 is printed; see docs/evaluate.md");
	parser.callback([arguments, &line] {
		refuse_gpus(line.options, "warps");
		try {
			line.status = simulate_all_policies(*arguments, line.options);
		} catch (const Error &e) {
			throw CLI::ValidationError("warps", e.what());
		}
	});
}

} // namespace

Commands warps_commands()
{
	return {
		{"warps",
		 "simulate warp schedulers of an SM: LRR, GTO and RT-PAWS",
		 {"gpulens-lab warps                              on the example of Singh's thesis",
		  "gpulens-lab warps K1:2:1 K2:2:2:1 --latencies 3,1,1,7,1,1"},
		 add_warps},
	};
}

} // namespace tool
