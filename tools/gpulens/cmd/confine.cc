// SPDX-License-Identifier: GPL-2.0
// See confine.hpp.
#include "gpulens/cmd/confine.hpp"

#include "gpulens/cmd/confinement.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>
#include <vector>

namespace tool {

namespace {

// That one is named, or none.
std::optional<unsigned> named_gpu(const Options &options)
{
	if (options.sources.gpus.size() > 1)
		throw SourceError("one GPU at a time: each program gets TPCs of one");
	return options.sources.gpus.empty() ? std::nullopt : std::optional(options.sources.gpus[0]);
}

} // namespace

int confine(const Options &options, const std::string &where, RunOptions &run)
{
	std::optional<unsigned> gpu = named_gpu(options);
	gpulens::Confinement to;

	run.preload = {"libgpulens-confine.so"};
	run.limited = true;
	try {
		check_preloadable(run);
	} catch (const SourceError &e) {
		fmt::print(stderr, "gpulens: {}\n", e.what());
		return EXIT_REFUSED;
	}
	try {
		to = gpulens::confinement(gpu, where);
	} catch (const gpulens::Error &e) {
		fmt::print(stderr, "gpulens: {}\n", e.what());
		return e.err == EINVAL || e.err == ENOENT ? EXIT_USAGE : e.err == ENODEV ? EXIT_SOURCE : EXIT_REFUSED;
	}
	run.environment = to.environment;
	fmt::print(stderr, "gpulens: {} is on TPCs {} of {}, in GPCs {}\n", run.program[0], ranges(to.tpcs), to.pci,
		   ranges(to.gpcs));
	for (const Applied &other : applied_partitions(options.sources.proc))
		std::fputs(overlaps_text({{.pid = static_cast<u32>(getpid()),
					   .process = run.program[0],
					   .gpu = to.pci,
					   .way = "mask",
					   .scope = "program",
					   .tpcs = to.tpcs,
					   .gpcs = to.gpcs,
					   .launches{}},
					  other})
				   .c_str(),
			   stderr);
	return EXIT_DONE;
}

int show_ways(const Options &options)
{
	std::vector<gpulens::WayThere> ways;

	try {
		ways = gpulens::ways_on(named_gpu(options));
	} catch (const gpulens::Error &e) {
		throw SourceError(e.what());
	}
	if (options.json) {
		nlohmann::ordered_json list = nlohmann::ordered_json::array(), null;
		for (const gpulens::WayThere &one : ways)
			list.push_back({{"way", one.name},
					{"granule_tpcs", one.granule ? nlohmann::ordered_json(*one.granule) : null},
					{"why", one.granule ? null : nlohmann::ordered_json(one.why)}});
		return print(json_text({{"version", 1}, {"ways", list}})) ? EXIT_DONE : EXIT_PART;
	}
	Table table({"<Way", "<Here"});
	for (const gpulens::WayThere &one : ways)
		table.add({one.name, !one.granule        ? "no: " + one.why
				     : *one.granule == 1 ? "any TPCs"
							 : fmt::format("groups of {} TPCs", *one.granule)});
	return print(table.str(style_of_output(options.colour))) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
