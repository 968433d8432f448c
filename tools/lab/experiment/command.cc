// SPDX-License-Identifier: GPL-2.0
// Runs or simulates the experiments one after another, and writes what each found.
#include "lab/experiment/command.hpp"

#include "lab/experiment/call_table.hpp"
#include "lab/experiment/measure.hpp"
#include "lab/experiment/report.hpp"
#include "lab/experiment/sharing.hpp"
#include "lab/experiment/simulate.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;

namespace {

constexpr int EXPERIMENT_JSON_VERSION = 1;
constexpr u64 TRACE_NS = 500'000'000, SHARING_NS = 6'000'000'000; // where --run is not given

// What an experiment found, in each form.
struct Result { // NOLINT(bugprone-exception-escape): of the JSON library
	Finding finding = Finding::Unknown;
	std::string text, svg, csv;
	json document;
};

Result run_table(const ExperimentOptions &own, const std::string &name, const Style &style)
{
	TableOptions table_options = own.table;

	table_options.experiment = name;
	TimeTable table =
		own.simulate ? simulate_table(name, own.without, own.table.within) : measure_table(table_options);
	Verdict verdict = judge_table(table);
	return {.finding = verdict.finding,
		.text = table_text(table, verdict, style),
		.svg = table_svg(table, verdict),
		.csv = table_csv(table),
		.document = table_json(table, verdict)};
}

Result run_calls(const ExperimentOptions &own, const Style &style)
{
	CallTable table = own.simulate ? simulate_calls(own.without) : measure_calls();
	Verdict verdict = judge_calls(table);

	return {.finding = verdict.finding,
		.text = calls_text(table, verdict, style),
		.svg = {},
		.csv = {},
		.document = calls_json(table, verdict)};
}

Result run_sharing(const ExperimentOptions &own, const Style &style)
{
	if (!own.table.program.empty())
		throw Error(Error::Input, fmt::format("--program is for other experiments than {}", SHARING));
	SharingTable table = own.simulate ? simulate_sharing(own.without)
					  : measure_sharing(own.run_ns ? own.run_ns : SHARING_NS, own.table.job);
	Verdict verdict = judge_sharing(table);

	return {.finding = verdict.finding,
		.text = sharing_text(table, verdict, style),
		.svg = sharing_svg(table, verdict),
		.csv = sharing_csv(table),
		.document = sharing_json(table, verdict)};
}

bool is_table(const std::string &name)
{
	return std::any_of(tables().begin(), tables().end(), [&](const Kind &kind) { return name == kind.name; });
}

Result run_experiment(const Options &options, const ExperimentOptions &own, const std::string &name, const Style &style)
{
	if (is_table(name))
		return run_table(own, name, style);
	if (name == PITFALLS)
		return run_calls(own, style);
	if (name == SHARING)
		return run_sharing(own, style);
	Trace trace = own.simulate ? simulate({.experiment = name,
					       .without = own.without,
					       .processes = own.processes,
					       .chunk_bytes = own.chunk_bytes})
				   : measure(options, {.experiment = name,
						       .processes = own.processes,
						       .run_ns = own.run_ns ? own.run_ns : TRACE_NS,
						       .chunk_bytes = own.chunk_bytes});
	Verdict verdict = judge(trace);

	return {.finding = verdict.finding,
		.text = verdict_text(trace, verdict, style),
		.svg = trace_svg(trace, verdict),
		.csv = {},
		.document = verdict_json(trace, verdict)};
}

void make_folder(const std::string &folder)
{
	std::error_code err;

	std::filesystem::create_directories(folder, err);
	if (err)
		throw Error(Error::Source, fmt::format("{}: {}", folder, err.message()));
}

void write_result(const std::string &folder, const std::string &name, const Result &result)
{
	std::filesystem::path base = std::filesystem::path(folder) / name;

	write_file(base.string() + ".json", json_text(result.document));
	if (!result.svg.empty())
		write_file(base.string() + ".svg", result.svg);
	if (!result.csv.empty())
		write_file(base.string() + ".csv", result.csv);
}

// Those of RTAS'24, then those of RTAS'23, then the one of Otterness' thesis and the one of docs/choose.md.
std::vector<Kind> all_kinds()
{
	std::vector<Kind> all = kinds();

	all.insert(all.end(), tables().begin(), tables().end());
	all.push_back({PITFALLS, "P3.1-P3.4",
		       "a long kernel; a call of a second thread, seven of them in turn; a launch of a third thread"});
	all.push_back({SHARING, "slices",
		       "a program with requests beside one that computes without end, in seven ways to share the GPU"});
	return all;
}

std::string list_text(const Style &style)
{
	Table table({"<Name", "<Rule", "<What runs"});

	for (const Kind &kind : all_kinds())
		table.add({kind.name, kind.rule, kind.about});
	return table.str(style);
}

json list_json()
{
	json list = json::array();

	for (const Kind &kind : all_kinds())
		list.push_back({{"name", kind.name}, {"rule", kind.rule}, {"about", kind.about}});
	return {{"version", EXPERIMENT_JSON_VERSION}, {"command", "experiment"}, {"experiments", list}};
}

} // namespace

std::vector<std::string> experiment_names()
{
	std::vector<std::string> names;

	for (const Kind &kind : all_kinds())
		names.emplace_back(kind.name);
	return names;
}

int experiment_command(const Options &options, const ExperimentOptions &experiment_options)
{
	std::vector<std::string> names = experiment_options.all ? experiment_names() : experiment_options.names;
	Style style = options.style();
	json results = json::array();
	std::string text;
	bool failed = false, not_seen = false, unknown = false;

	if (experiment_options.list)
		return print_text(options.json ? json_text(list_json()) : list_text(style)) ? EXIT_DONE : EXIT_REFUSED;
	if (!experiment_options.simulate && !options.sources.gpus.empty())
		throw Error(Error::Input,
			    "experiment runs on CUDA's device 0: CUDA_VISIBLE_DEVICES chooses another GPU, not -g");
	if (!experiment_options.folder.empty())
		make_folder(experiment_options.folder);
	for (const std::string &name : names) {
		Result result;
		if (names.size() > 1 && !experiment_options.simulate)
			fmt::print(stderr, "gpulens-lab: {}\n", name);
		try {
			result = run_experiment(options, experiment_options, name, style);
		} catch (const Error &e) {
			if (names.size() == 1)
				throw;
			failed = true;
			fmt::print(stderr, "gpulens-lab: {}: {}\n", name, e.what());
			result.document = {{"experiment", name}, {"error", e.what()}};
			result.text = fmt::format("{}: failed: {}\n", name, replace_controls(e.what()));
		}
		not_seen = not_seen || result.finding == Finding::NotSeen;
		unknown = unknown || result.finding == Finding::Unknown;
		if (!experiment_options.folder.empty())
			write_result(experiment_options.folder, name, result);
		text += (text.empty() ? "" : "\n") + result.text;
		results.push_back(std::move(result.document));
	}
	if (options.json)
		text = json_text(
			{{"version", EXPERIMENT_JSON_VERSION}, {"command", "experiment"}, {"results", results}});
	if (!print_text(text) || failed)
		return EXIT_REFUSED;
	return not_seen ? EXIT_PART : unknown ? EXIT_UNKNOWN : EXIT_DONE;
}

} // namespace tool::experiment
