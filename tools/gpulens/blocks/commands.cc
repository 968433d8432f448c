// SPDX-License-Identifier: GPL-2.0
// See commands.hpp.
#include "gpulens/blocks/commands.hpp"

#include "gpulens/blocks/predict.hpp"
#include "gpulens/blocks/summary.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

// A log has lists of thousands of numbers: each on one line, and so each kernel.
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
		for (const json &one : value) {
			text += between + one.dump(-1, ' ', false, json::error_handler_t::replace);
			between = ",\n";
		}
		text += "\n]";
	}
	return text + "\n}\n";
}

Scenario scenario_of(const std::string &name, const Machine &machine)
{
	for (const Builtin &one : builtins())
		if (name == one.name)
			return one.make(machine);
	return parse_scenario(read_whole(name), name_of_file(name));
}

void write_streams(const Log &log, const std::string &folder)
{
	for (u32 i = 0; i < log.streams.size(); i++) {
		const std::string &given = log.streams[i].log_name;
		std::string name = std::filesystem::path(given).filename();
		if (name.empty())
			name = fmt::format("stream-{}.json", i + 1);
		write_whole((std::filesystem::path(folder) / name).string(), dump_log(stream_json(log, i)));
	}
}

} // namespace

int probe_command(const Options &options, const ProbeOptions &what)
{
	if (what.list)
		return print(options.json ? json_text(builtins_json()) : builtins_text(style_of_output(options.colour)))
			       ? EXIT_DONE
			       : EXIT_PART;
	return with_user_files([&] {
		Machine machine = what.simulated;
		ProgramOptions program = what.program;
		bool builtin = std::any_of(builtins().begin(), builtins().end(),
					   [&](const Builtin &one) { return what.scenario == one.name; });
		if (what.simulate)
			machine.channels = program.connections.value_or(machine.channels);
		else if (builtin)
			machine = probe_machine(program);
		Scenario scenario = scenario_of(what.scenario, machine);
		if (what.print)
			return print(json_text(scenario_json(scenario))) ? EXIT_DONE : EXIT_PART;
		if (scenario.device)
			program.device = *scenario.device;
		if (!what.simulate) {
			machine = probe_machine(program);
			check_fits(scenario, machine);
		}
		Log log = what.simulate ? predict(scenario, machine) : probe_run(program, scenario);
		if (!what.file.empty())
			write_whole(what.file, dump_log(log_json(log)));
		if (!what.folder.empty())
			write_streams(log, what.folder);
		bool shown =
			what.file == "-" || print(options.json ? dump_log(log_json(log))
							       : summary_text(log, style_of_output(options.colour)));
		return shown ? EXIT_DONE : EXIT_PART;
	});
}

int blocks_command(const Options &options, const BlocksOptions &what)
{
	return with_user_files([&] {
		std::vector<std::pair<std::string, std::string>> files;
		for (const std::string &file : what.logs)
			files.emplace_back(name_of_file(file), read_whole(file));
		Log log = parse_logs(files);
		if (what.channels) {
			log.machine.channels = *what.channels;
			log.channels_told = true;
		}
		if (!what.file.empty())
			write_whole(what.file, timeline_svg(log, what.by, what.used));
		std::optional<Verdict> verdict;
		if (what.check)
			verdict = check(log, what.tolerance_ns);
		std::string text;
		if (options.json)
			text = json_text(summary_json(log, verdict));
		else if (verdict)
			text = verdict_text(log, *verdict);
		else if (what.file.empty())
			text = summary_text(log, style_of_output(options.colour));
		bool shown = text.empty() || print(text);
		return shown && !(verdict && !verdict->violations.empty()) ? EXIT_DONE : EXIT_PART;
	});
}

} // namespace tool::blocks
