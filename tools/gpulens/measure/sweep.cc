// SPDX-License-Identifier: GPL-2.0
// Verifies a mask of each size at once, runs the program or the probe under each, and writes the times.
#include "gpulens/measure/sweep.hpp"

#include "gpulens/blocks/commands.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/measure/limited_program.hpp"
#include "gpulens/measure/probe.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex.h>
#include <set>

namespace tool::measure {

using gpulens::VerifiedLimit;
using gpulens::VerifiedLimits;
using json = nlohmann::ordered_json;

namespace {

constexpr int JSON_VERSION = 1;
constexpr u32 MAX_NUMBER = 65536;

// A compiled regular expression of POSIX.
class Regex {
public:
	explicit Regex(const std::string &text)
	{
		char message[256];
		int err = regcomp(&regex_, text.c_str(), REG_EXTENDED | REG_NEWLINE);

		if (err) {
			regerror(err, &regex_, message, sizeof(message));
			throw Error(Error::Input, fmt::format("--time \"{}\": {}", text, message));
		}
		if (regex_.re_nsub != 1) {
			size_t groups = regex_.re_nsub;
			regfree(&regex_);
			throw Error(Error::Input, fmt::format("--time \"{}\": {} groups in parentheses; one is needed, "
							      "around the number",
							      text, groups));
		}
	}
	Regex(const Regex &) = delete;
	Regex &operator=(const Regex &) = delete;
	~Regex() { regfree(&regex_); }

	// Returns the group's text of the next match, and moves at behind that match.
	std::optional<std::string> find(const char *&at) const
	{
		regmatch_t match[2];

		if (!*at || regexec(&regex_, at, 2, match, 0) || match[1].rm_so < 0)
			return std::nullopt;
		std::string text(at + match[1].rm_so, at + match[1].rm_eo);
		at += std::max<regoff_t>(match[0].rm_eo, 1);
		return text;
	}

private:
	regex_t regex_{};
};

// The name of the task of a program: its file name, with each character that CSV or fit does not take replaced.
std::string task_name(const std::string &program)
{
	std::string name = std::filesystem::path(program).filename().string();

	for (char &c : name)
		if (!is_task_name(std::string(1, c)))
			c = '_';
	return name.empty() ? "program" : name;
}

std::vector<Sample> run_program_once(const SweepOptions &options, const VerifiedLimit &limit, u32 run)
{
	std::string task = options.name.empty() ? task_name(options.program[0]) : options.name;
	Finished finished = CapturedProgram(options.program, &limit, !options.pattern.empty()).finish();
	std::vector<double> times = {finished.elapsed_us};
	std::vector<Sample> samples;

	require_success(
		fmt::format("{} on {} TPC{}", options.program[0], limit.tpcs.size(), limit.tpcs.size() == 1 ? "" : "s"),
		finished.status);
	if (!options.pattern.empty())
		times = find_times(finished.output, options.pattern, options.unit_us);
	samples.reserve(times.size());
	for (double us : times)
		samples.push_back({task, static_cast<u32>(limit.tpcs.size()), run, us});
	return samples;
}

// A sample for each kernel: from the start of its first block to the end of its last one.
std::vector<Sample> run_scenario_once(const SweepOptions &options, const blocks::Scenario &scenario,
				      const VerifiedLimit &limit, u32 run)
{
	blocks::Log log = blocks::run_scenario(limited_probe(options.probe, limit), scenario);
	blocks::Within within = check_limit(log, limit);
	std::vector<Sample> samples;

	if (!within.outside.empty()) {
		std::string text = within_text(within);
		throw Error(Error::Failed, fmt::format("the limit did not hold: {}", text.substr(0, text.find('\n'))));
	}
	for (const blocks::Ran &k : log.kernels)
		samples.push_back({k.name, static_cast<u32>(limit.tpcs.size()), run,
				   static_cast<double>(k.last_end() - k.first_start()) / 1000});
	return samples;
}

blocks::Scenario load_scenario(const SweepOptions &options, const VerifiedLimit &limit)
{
	blocks::Machine machine = blocks::probe_machine(limited_probe(options.probe, limit));
	blocks::Scenario scenario = options.scenario == MATRIX_COPY ? matrix_copy(machine)
								    : blocks::load_scenario(options.scenario, machine);

	blocks::check_fits(scenario, machine);
	return scenario;
}

VerifiedLimits verify_sizes(const Options &options, const SweepOptions &sweep_options)
{
	return gpulens::verify_limits(named_gpu(options), [&](const gpulens::Layout &layout) {
		std::vector<gpulens::TpcMask> masks;
		for (u32 size : parse_sizes(sweep_options.sizes, layout.map.tpcs))
			masks.push_back(
				layout.make_masks({size}, sweep_options.placing, gpulens::TpcMask(layout.map.tpcs))[0]);
		return masks;
	});
}

std::string samples_csv(const std::vector<Sample> &samples)
{
	std::string text = "task,tpcs,time_us\n";

	for (const Sample &s : samples)
		text += fmt::format("{},{},{:.3f}\n", s.task, s.tpcs, s.us);
	return text;
}

json samples_json(const SweepOptions &options, const VerifiedLimits &verified, const std::vector<Sample> &samples)
{
	json limits = json::array(), list = json::array();

	for (const VerifiedLimit &limit : verified.limits)
		limits.push_back({{"size", limit.tpcs.size()}, {"tpcs", limit.tpcs}, {"gpcs", limit.gpcs}});
	for (const Sample &s : samples)
		list.push_back({{"task", s.task}, {"tpcs", s.tpcs}, {"run", s.run}, {"time_us", s.us}});
	return {{"version", JSON_VERSION},
		{"command", "sweep"},
		{"gpu", verified.limits.front().pci},
		{"placing", plan::placing_name(options.placing)},
		{"partitions", limits},
		{"times", list}};
}

} // namespace

bool is_task_name(const std::string &name)
{
	return is_plain_word(name) && name.find(',') == name.npos;
}

std::vector<double> find_times(const std::string &output, const std::string &pattern, double unit_us)
{
	Regex regex(pattern);
	std::vector<double> times;
	const char *at = output.c_str();

	while (std::optional<std::string> text = regex.find(at)) {
		char *end = nullptr;
		double time = std::strtod(text->c_str(), &end) * unit_us;
		if (text->empty() || *end || !std::isfinite(time) || !(time > 0))
			throw Error(Error::Failed, fmt::format("--time \"{}\": it matches \"{}\", which is not a time "
							       "above 0",
							       pattern, replace_controls(text->substr(0, 40))));
		times.push_back(time);
	}
	if (times.empty())
		throw Error(Error::Failed,
			    fmt::format("--time \"{}\": nothing in the program's output matches", pattern));
	return times;
}

std::vector<u32> parse_sizes(const std::string &text, u32 tpcs)
{
	std::set<u32> sizes;

	if (text.empty()) {
		for (u32 size = 1; size < tpcs; size *= 2)
			sizes.insert(size);
		sizes.insert(tpcs);
	} else if (text == "all") {
		for (u32 size = 1; size <= tpcs; size++)
			sizes.insert(size);
	} else {
		std::optional<std::vector<u32>> numbers = plan::parse_numbers(text, MAX_NUMBER);
		if (!numbers || std::count(numbers->begin(), numbers->end(), 0U))
			throw Error(Error::Input,
				    fmt::format("--sizes \"{}\": expected numbers of TPCs, 1-8,16, or all", text));
		sizes.insert(numbers->begin(), numbers->end());
	}
	if (*sizes.rbegin() > tpcs)
		throw Error(Error::Absent,
			    fmt::format("--sizes \"{}\": the GPU has {} TPCs, not {}", text, tpcs, *sizes.rbegin()));
	return {sizes.begin(), sizes.end()};
}

int sweep_command(const Options &options, const SweepOptions &sweep_options)
{
	std::vector<Sample> samples;
	std::optional<blocks::Scenario> scenario;

	if (!sweep_options.pattern.empty())
		Regex{sweep_options.pattern}; // before anything runs
	require_preloadable(sweep_options.program.empty() ? std::vector<std::string>{probe_path_of(sweep_options.probe)}
							  : sweep_options.program);
	VerifiedLimits verified = verify_sizes(options, sweep_options);
	if (sweep_options.program.empty())
		scenario = load_scenario(sweep_options, verified.limits.back());
	// All sizes in each round, so that a GPU that slows down over time does not look like a size.
	for (u32 round = 1; round <= sweep_options.repeat; round++)
		for (const VerifiedLimit &limit : verified.limits) {
			std::vector<Sample> more = scenario ? run_scenario_once(sweep_options, *scenario, limit, round)
							    : run_program_once(sweep_options, limit, round);
			for (const Sample &s : more)
				fmt::print(stderr, "gpulens: {} on {} TPC{} ({}), run {} of {}: {:.3f} us\n", s.task,
					   s.tpcs, s.tpcs == 1 ? "" : "s", format_ranges(limit.tpcs), round,
					   sweep_options.repeat, s.us);
			samples.insert(samples.end(), more.begin(), more.end());
		}
	std::string csv = samples_csv(samples);
	if (!sweep_options.file.empty())
		write_file(sweep_options.file, csv);
	if (options.json)
		return print_text(json_text(samples_json(sweep_options, verified, samples))) ? EXIT_DONE : EXIT_PART;
	return !sweep_options.file.empty() || print_text(csv) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool::measure
