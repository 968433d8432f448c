// SPDX-License-Identifier: GPL-2.0
// Loads GPUs and prints what a show command selects.
#include "gpulens/cmd/show.hpp"

#include "gpulens/out/gpu_json.hpp"
#include "gpulens/out/text.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/output_file.hpp"
#include "lib/model/isolation.hpp"
#include "lib/source/image/from_image.hpp"
#include "lib/source/image/proc_text.hpp"
#include "lib/source/table/sources.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

// Prints the failures of a GPU or file on standard error. Returns whether there are none.
bool report_failures(const std::vector<Failure> &failures, const std::string &name)
{
	for (const Failure &f : failures)
		std::fprintf(stderr, "gpulens: %s: %s: %s\n", name.c_str(), f.item.text().c_str(), f.text().c_str());
	return failures.empty();
}

// Returns whether a failure affects this runlist.
bool concerns_runlist(const Subject &item, u32 id)
{
	switch (item.part) {
	case Part::Chip:
	case Part::Engines:
	case Part::Runlists: return true;
	case Part::Runlist:
	case Part::Channel: return item.id == id;
	default: return false;
	}
}

// Describes which runlists there are, for one that does not exist; empty if that is unknown.
std::string describe_runlists(const Gpu &gpu)
{
	std::set<u32> ids;

	for (const Runlist &rl : gpu.runlists)
		ids.insert(rl.id);
	for (const Engine &e : gpu.engines)
		if (e.runlist != LENS_NONE)
			ids.insert(static_cast<u32>(e.runlist));
	return ids.empty() ? "" : fmt::format("it does not exist; there are {}", fmt::join(ids, ", "));
}

// Returns the failures that affect this command.
std::vector<Failure> failures_of(Show command, const Gpu &gpu, std::optional<u32> id)
{
	std::vector<Failure> list;

	if (gpu.inaccessible)
		return gpu.chip_failures;
	switch (command) {
	case Show::Chip: return gpu.chip_failures;
	case Show::Engines: return gpu.engine_failures;
	case Show::Copy: return gpu.copy_failures;
	case Show::Gpcs: return gpu.gpc_failures;
	case Show::Overview:
	case Show::Isolation:
		list = gpu.engine_failures;
		// Most chips lack a manual for some part; the overview omits that part without a failure.
		for (const Failure &f : gpu.copy_failures)
			if (f.err != -EOPNOTSUPP && gpu.engine_failures.empty())
				list.push_back(f);
		for (const Failure &f : gpu.runlist_failures)
			if (f.err != -EOPNOTSUPP && gpu.engine_failures.empty())
				list.push_back(f);
		return list;
	case Show::Runlists:
		if (!id)
			return gpu.runlist_failures;
		for (const Failure &f : gpu.runlist_failures)
			if (concerns_runlist(f.item, *id))
				list.push_back(f);
		if (list.empty() && !gpu.runlist(*id))
			list.push_back({{Part::Runlist, *id}, -ENOENT, {}, describe_runlists(gpu)});
		return list;
	case Show::Channels:
		list = gpu.runlist_failures;
		list.insert(list.end(), gpu.channel_failures.begin(), gpu.channel_failures.end());
		return list;
	}
	return list;
}

std::string text_of(Show command, const Gpu &gpu, std::optional<u32> id, const Style &style,
		    const std::vector<std::string> &accepted)
{
	switch (command) {
	case Show::Overview: return overview_text(gpu, style);
	case Show::Chip: return chip_text(gpu, style);
	case Show::Engines: return engines_text(gpu, style);
	case Show::Runlists: return runlists_text(gpu, id, style);
	case Show::Channels: return channels_text(gpu, style);
	case Show::Copy: return copy_text(gpu, style);
	case Show::Gpcs: return gpcs_text(gpu, style);
	case Show::Isolation: return isolation_text(gpu, isolation_of(gpu), style, accepted);
	}
	return "";
}

json json_of(Show command, const Gpu &gpu, std::optional<u32> id, const std::vector<std::string> &accepted)
{
	json j = gpu_json(gpu);

	switch (command) {
	case Show::Chip: break;
	case Show::Engines: j["engines"] = engines_json(gpu); break;
	case Show::Runlists: j["runlists"] = runlists_json(gpu, id); break;
	case Show::Channels:
		j["channels"] = channels_json(gpu);
		j["allocated_channels"] = allocated_json(gpu);
		j["processes"] = processes_json(gpu);
		break;
	case Show::Copy: j["copy"] = copy_json(gpu); break;
	case Show::Gpcs: j["gpcs"] = gpcs_json(gpu); break;
	case Show::Isolation: j["isolation"] = isolation_json(isolation_of(gpu), accepted); break;
	case Show::Overview:
		j["engines"] = engines_json(gpu);
		j["runlists"] = runlists_json(gpu, std::nullopt);
		j["copy"] = copy_json(gpu);
		j["gpcs"] = gpcs_json(gpu);
		j["isolation"] = isolation_json(isolation_of(gpu));
		break;
	}
	j["errors"] = errors_json(failures_of(command, gpu, id));
	return j;
}

bool has_others(const std::vector<Hazard> &hazards, const std::vector<std::string> &accepted)
{
	return std::any_of(hazards.begin(), hazards.end(), [&](const Hazard &h) {
		return std::find(accepted.begin(), accepted.end(), h.id()) == accepted.end();
	});
}

// Fails closed: without a GPU nothing is determined.
Exit judge_isolation(const std::vector<Gpu> &gpus, const std::vector<std::string> &accepted)
{
	bool unknown = gpus.empty();

	for (const Gpu &gpu : gpus) {
		Isolation isolation = isolation_of(gpu);
		if (has_others(isolation.hazards, accepted) || has_others(isolation.sharing, accepted))
			return EXIT_PART;
		unknown |= has_others(isolation.unknown, accepted);
	}
	return unknown ? EXIT_UNKNOWN : EXIT_DONE;
}

bool has_tsgs(const Gpu &gpu)
{
	return std::ranges::any_of(gpu.runlists, [](const Runlist &rl) { return !rl.tsgs.empty(); });
}

} // namespace

int show_gpus(Show command, const Options &options, std::optional<u32> id, const IsolationCheck &check)
{
	std::vector<Gpu> gpus = load_gpus(options.sources);
	if (command == Show::Gpcs)
		add_sms(gpus, options.sources);
	Style style = options.style();
	bool complete = true;
	std::string out;
	json list = json::array();

	for (const Gpu &gpu : gpus) {
		if (options.json) {
			list.push_back(json_of(command, gpu, id, check.accepted));
		} else if (!gpu.inaccessible) {
			if (!out.empty())
				out += '\n';
			out += text_of(command, gpu, id, style, check.accepted);
		}
	}
	if (options.json)
		out = json_text({{"version", JSON_VERSION}, {"gpus", list}});
	else if (command == Show::Overview && style.width && std::ranges::any_of(gpus, has_tsgs))
		out += style.paint(Ink::Dim,
				   wrap_text("TSG: its number, time slice, \"runs\" while it is on an engine, "
					     "and its channels by number",
					     style.width, "  ")) +
		       '\n';
	if (!print_text(out))
		return EXIT_PART;
	for (const Gpu &gpu : gpus)
		complete &= report_failures(failures_of(command, gpu, id), gpu.name());
	if (check.check)
		return judge_isolation(gpus, check.accepted);
	return complete ? EXIT_DONE : EXIT_PART;
}

int show_proc(const std::string &name, const Options &options)
{
	bool complete = true;

	if (options.sources.files.empty())
		throw Error(Error::Source,
			    "proc needs an image (-i FILE); for the GPUs of this machine, read /proc/gpuX/" + name);
	for (const std::string &file : options.sources.files) {
		Image image = image_of(read_file(file), file);
		Decoder decoder(image);
		ProcText out = proc_text(decoder, name);
		if (!print_text(out.text))
			return EXIT_PART;
		complete &= report_failures(out.failures, file);
	}
	return complete ? EXIT_DONE : EXIT_PART;
}

} // namespace tool
