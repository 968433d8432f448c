// SPDX-License-Identifier: GPL-2.0
// Verifies limits, and prints the supported methods.
#include "gpulens/cmd/tpc_limit.hpp"

#include "gpulens/cmd/partitions.hpp"
#include "gpulens/limit/cuda_probe.hpp"
#include "gpulens/out/partition_notes.hpp"
#include "gpulens/out/table.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/launch/environment.hpp"
#include "lib/source/driver/driver_source.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>
#include <vector>

namespace tool {

std::optional<unsigned> named_gpu(const Options &options)
{
	if (options.sources.gpus.size() > 1)
		throw Error(Error::Source, "one GPU at a time: a program gets TPCs of one GPU");
	return options.sources.gpus.empty() ? std::nullopt : std::optional(options.sources.gpus[0]);
}

void check_plan(const PlannedPlace &planned, const gpulens::VerifiedLimit &verified)
{
	if (!is_same_address(planned.device, verified.pci))
		throw Error(
			Error::Input,
			fmt::format(
				"{}: it is a plan for GPU {}, and the program would run on {}; choose the GPU with -g, "
				"or plan for this one",
				planned.file, replace_controls(planned.device), verified.pci));
	if (planned.gpcs != verified.gpcs)
		throw Error(Error::Input,
			    fmt::format("{}: TPCs {} are in GPCs {} of {}, and in GPCs {} by the plan; plan again for "
					"this GPU",
					planned.file, format_ranges(verified.tpcs),
					verified.gpcs.empty() ? "-" : format_ranges(verified.gpcs), verified.pci,
					planned.gpcs.empty() ? "-" : format_ranges(planned.gpcs)));
}

namespace {

std::string place_text(const gpulens::VerifiedLimit &verified)
{
	return fmt::format("TPCs {} of {}, in {}", format_ranges(verified.tpcs), verified.pci,
			   verified.gpcs.empty() ? "unknown GPCs" : "GPCs " + format_ranges(verified.gpcs));
}

// Prints with which processes the one that has these TPCs shares some.
void print_overlaps(const Options &options, const gpulens::VerifiedLimit &verified, u32 pid, const std::string &name)
{
	PublishedPartition own{
		{.gpu = verified.pci, .method{}, .scope{}, .tpcs = verified.tpcs, .gpcs = verified.gpcs}, pid, name};

	for (const PublishedPartition &other : published_partitions(options.sources.proc))
		std::fputs(overlaps_text({own, other}).c_str(), stderr);
}

} // namespace

int limit_program(const Options &options, const std::string &limit, RunOptions &run)
{
	std::optional<unsigned> gpu = named_gpu(options);

	run.preload.emplace_back(gpulens::environment::CONFINE_LIBRARY);
	run.limits |= gpulens::environment::LIMIT_IN_SPACE;
	gpulens::VerifiedLimit verified = gpulens::verify_limit(gpu, limit);
	if (run.planned)
		check_plan(*run.planned, verified);
	if (run.mps)
		gpulens::require_mps(verified, "--mps");
	if (run.planned && run.planned->on_mps && !verified.under_mps)
		throw Error(Error::Failed, run.planned->file + ": it is a plan for programs that run at the same time, "
							       "under MPS: add --mps");
	run.environment.insert(verified.environment.begin(), verified.environment.end());
	if (run.fixed || run.planned)
		run.environment[gpulens::environment::FIXED] = "1";
	fmt::print(stderr, "gpulens: {} is limited to {}\n", run.program[0], place_text(verified));
	print_overlaps(options, verified, static_cast<u32>(getpid()), run.program[0]);
	if (!run.quiet)
		for (const std::string &note : partition_notes(verified.mps, verified.under_mps))
			fmt::print(stderr, "gpulens: note: {}\n", note);
	return EXIT_DONE;
}

int set_partition(const Options &options, u32 pid, const Limit &limit, bool quiet)
{
	PublishedPartition before = requestable_partition(options.sources.proc, pid);
	std::optional<unsigned> gpu = named_gpu(options);

	if (!gpu)
		gpu = static_cast<unsigned>(DriverSource::gpu_at(before.gpu).index);
	gpulens::VerifiedLimit verified = gpulens::verify_limit(gpu, limit.tpcs);

	if (!is_same_address(verified.pci, before.gpu))
		throw Error(Error::Input, fmt::format("process {}: its GPU is {}, not {}", pid,
						      replace_controls(before.gpu), verified.pci));
	if (limit.planned)
		check_plan(*limit.planned, verified);
	bool taken =
		request_partition(options.sources.proc, pid, verified.environment.at(gpulens::environment::LAUNCH_MASK),
				  verified.environment.at(gpulens::environment::PARTITION));
	print_overlaps(options, verified, pid, before.process);
	if (!quiet)
		std::fputs("gpulens: note: graphs keep the TPCs that they were uploaded with, until they are "
			   "instantiated again\n",
			   stderr);
	if (options.json)
		return print_text(json_text({{"version", 1},
					     {"pid", pid},
					     {"gpu", verified.pci},
					     {"tpcs", verified.tpcs},
					     {"gpcs", verified.gpcs},
					     {"taken", taken}}))
			       ? EXIT_DONE
			       : EXIT_PART;
	return print_text(fmt::format("{} ({}) is limited to {}{}\n", pid, before.process, place_text(verified),
				      taken ? "" : ", from its next launch on"))
		       ? EXIT_DONE
		       : EXIT_PART;
}

int show_methods(const Options &options)
{
	std::vector<gpulens::MethodSupport> methods;

	try {
		methods = gpulens::probe_methods(named_gpu(options));
	} catch (const gpulens::Error &e) {
		throw Error(Error::Source, e.what());
	}
	if (options.json) {
		using json = nlohmann::ordered_json;
		json list = json::array(), ways = json::array(); // ways: with the names of version 0.1, until 0.3
		for (const gpulens::MethodSupport &method : methods) {
			bool supported = method.granularity.has_value();
			json granularity = supported ? json(*method.granularity) : json(nullptr),
			     why = text_or_null(supported ? "" : method.reason),
			     evidence = text_or_null(method.evidence);
			list.push_back({{"method", method.name},
					{"granularity", granularity},
					{"why", why},
					{"evidence", evidence}});
			ways.push_back({{"way", method.name},
					{"granule_tpcs", granularity},
					{"why", why},
					{"evidence", evidence}});
		}
		json document = {{"version", 1}, {"methods", list}, {"ways", ways}};
		return print_text(json_text(document)) ? EXIT_DONE : EXIT_PART;
	}
	Table table({"<Method", "<Support"});
	for (const gpulens::MethodSupport &method : methods)
		table.add({method.name, !method.granularity ? "no: " + method.reason
					: *method.granularity == 1
						? "any TPCs"
						: fmt::format("groups of {} TPCs", *method.granularity)});
	std::string text = table.str(options.style());
	for (const gpulens::MethodSupport &method : methods)
		if (!method.evidence.empty())
			text += fmt::format("{}: {}\n", method.name, method.evidence);
	return print_text(text) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
