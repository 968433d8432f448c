// SPDX-License-Identifier: GPL-2.0
// Runs or simulates scenarios, and checks and draws logs.
#include "lab/blocks/commands.hpp"

#include "lab/blocks/predict.hpp"
#include "lab/blocks/summary.hpp"
#include "lab/blocks/trace.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

// Formats a log with each stream on one line, because it has lists of thousands of numbers.
std::string dump_log(const json &log)
{
	std::string text = "{";
	const char *comma = "\n";

	for (const auto &[key, value] : log.items()) {
		text += comma + json(key).dump() + ": ";
		comma = ",\n";
		if (key != "benchmarks") {
			text += value.dump(-1, ' ', false, json::error_handler_t::replace);
			continue;
		}
		const char *between = "[\n";
		for (const json &stream : value) {
			text += between + stream.dump(-1, ' ', false, json::error_handler_t::replace);
			between = ",\n";
		}
		text += "\n]";
	}
	return text + "\n}\n";
}

void write_streams(const Log &log, const std::string &folder)
{
	for (u32 i = 0; i < log.streams.size(); i++) {
		const std::string &given = log.streams[i].log_name;
		std::string name = std::filesystem::path(given).filename();
		if (name.empty())
			name = fmt::format("stream-{}.json", i + 1);
		write_file((std::filesystem::path(folder) / name).string(), dump_log(stream_json(log, i)));
	}
}

} // namespace

int probe_command(const Options &options, const ProbeOptions &probe_options)
{
	if (probe_options.list)
		return print_text(options.json ? json_text(builtins_json()) : builtins_text(options.style()))
			       ? EXIT_DONE
			       : EXIT_PART;
	ProgramOptions program = probe_options.program;
	auto builtin = std::find_if(builtins().begin(), builtins().end(),
				    [&](const Builtin &b) { return probe_options.scenario == b.name; });
	Machine machine = builtin == builtins().end() ? TX2 : builtin->simulated;
	if (builtin != builtins().end() && builtin->connections && !program.connections)
		program.connections = builtin->connections;
	if (probe_options.simulate) {
		machine.channels = program.connections.value_or(machine.channels);
		machine.sms = probe_options.sms.value_or(machine.sms);
		machine.threads_per_sm = probe_options.threads_per_sm.value_or(machine.threads_per_sm);
		machine.sms_per_tpc = probe_options.sms_per_tpc.value_or(machine.sms_per_tpc);
		machine.copy_engines = probe_options.copy_engines.value_or(machine.copy_engines);
		machine.copy_rate = probe_options.copy_rate.value_or(machine.copy_rate);
		machine.grids = probe_options.grids.value_or(machine.grids);
	} else if (builtin != builtins().end()) {
		machine = probe_machine(program);
	}
	Scenario scenario = load_scenario(probe_options.scenario, machine);
	if (probe_options.print)
		return print_text(json_text(scenario_json(scenario))) ? EXIT_DONE : EXIT_PART;
	if (scenario.device)
		program.device = *scenario.device;
	if (!probe_options.simulate) {
		machine = probe_machine(program);
		check_fits(scenario, machine);
	}
	Log log = probe_options.simulate ? predict(scenario, machine, probe_options.channel_order)
					 : run_scenario(program, scenario);
	if (!probe_options.file.empty())
		write_file(probe_options.file, dump_log(log_json(log)));
	if (!probe_options.folder.empty())
		write_streams(log, probe_options.folder);
	bool shown = probe_options.file == "-" ||
		     print_text(options.json ? dump_log(log_json(log)) : summary_text(log, options.style()));
	return shown ? EXIT_DONE : EXIT_PART;
}

int blocks_command(const Options &options, const BlocksOptions &blocks_options)
{
	std::vector<std::pair<std::string, std::string>> files;
	for (const std::string &file : blocks_options.logs)
		files.emplace_back(name_of_file(file), read_file(file));
	Log log = parse_logs(files);
	if (blocks_options.channels) {
		log.machine.channels = *blocks_options.channels;
		log.channels_known = true;
	}
	std::optional<Within> within;
	if (!blocks_options.within.empty())
		within = check_within(log, blocks_options.within);
	if (!blocks_options.file.empty())
		write_file(blocks_options.file,
			   timeline_svg(log, blocks_options.by, blocks_options.used, within, blocks_options.cpu));
	if (!blocks_options.trace.empty())
		write_file(blocks_options.trace, trace_json(log));
	if (!blocks_options.cdf.empty())
		write_file(blocks_options.cdf, blocks_options.cdf.ends_with(".csv") ? cdf_csv(log) : cdf_svg(log));
	std::optional<Verdict> verdict;
	if (blocks_options.check)
		verdict = check(log, blocks_options.tolerance_ns, within ? within->allowed : std::vector<bool>());
	std::string text;
	if (options.json)
		text = json_text(summary_json(log, verdict, within));
	else if (verdict || within)
		text = (verdict ? verdict_text(log, *verdict) : "") + (within ? within_text(*within) : "");
	else if (blocks_options.file.empty() && blocks_options.cdf.empty() && blocks_options.trace.empty())
		text = summary_text(log, options.style());
	bool shown = text.empty() || print_text(text);
	bool violated = (verdict && !verdict->violations.empty()) || (within && !within->outside.empty());
	return shown && !violated ? EXIT_DONE : EXIT_PART;
}

} // namespace tool::blocks
