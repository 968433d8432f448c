// SPDX-License-Identifier: GPL-2.0
// See tpc_limit.hpp.
#include "gpulens/cmd/tpc_limit.hpp"

#include "gpulens/cmd/cuda_probe.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/launch/environment.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>
#include <vector>

namespace tool {

namespace {

// The GPU of -g, where one is named.
std::optional<unsigned> named_gpu(const Options &options)
{
	if (options.sources.gpus.size() > 1)
		throw Error(Error::Source, "one GPU at a time: each program gets TPCs of one");
	return options.sources.gpus.empty() ? std::nullopt : std::optional(options.sources.gpus[0]);
}

} // namespace

int limit_program(const Options &options, const std::string &limit, RunOptions &run)
{
	std::optional<unsigned> gpu = named_gpu(options);

	run.preload = {gpulens::environment::CONFINE_LIBRARY};
	run.limited = true;
	try {
		check_preloadable(run);
	} catch (const Error &e) {
		fmt::print(stderr, "gpulens: {}\n", e.what());
		return EXIT_REFUSED;
	}
	gpulens::VerifiedLimit verified = gpulens::verify_limit(gpu, limit);
	run.environment = verified.environment;
	fmt::print(stderr, "gpulens: {} is on TPCs {} of {}, in GPCs {}\n", run.program[0], ranges(verified.tpcs),
		   verified.pci, ranges(verified.gpcs));
	PublishedPartition own{{.gpu = verified.pci, .way{}, .scope{}, .tpcs = verified.tpcs, .gpcs = verified.gpcs},
			       static_cast<u32>(getpid()),
			       run.program[0]};
	for (const PublishedPartition &other : published_partitions(options.sources.proc))
		std::fputs(overlaps_text({own, other}).c_str(), stderr);
	return EXIT_DONE;
}

int show_ways(const Options &options)
{
	std::vector<gpulens::WaySupport> ways;

	try {
		ways = gpulens::probe_ways(named_gpu(options));
	} catch (const gpulens::Error &e) {
		throw Error(Error::Source, e.what());
	}
	if (options.json) {
		nlohmann::ordered_json list = nlohmann::ordered_json::array(), null;
		for (const gpulens::WaySupport &way : ways)
			list.push_back({{"way", way.name},
					{"granule_tpcs", way.granule ? nlohmann::ordered_json(*way.granule) : null},
					{"why", way.granule ? null : nlohmann::ordered_json(way.why)}});
		return print(json_text({{"version", 1}, {"ways", list}})) ? EXIT_DONE : EXIT_PART;
	}
	Table table({"<Way", "<Here"});
	for (const gpulens::WaySupport &way : ways)
		table.add({way.name, !way.granule        ? "no: " + way.why
				     : *way.granule == 1 ? "any TPCs"
							 : fmt::format("groups of {} TPCs", *way.granule)});
	return print(table.str(style_of_output(options.colour))) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
