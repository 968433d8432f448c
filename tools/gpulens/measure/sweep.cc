// SPDX-License-Identifier: GPL-2.0
// Verifies a mask of each size at once, runs the program or the probe under each, and writes the times. Neighbours run on all
// other TPCs, under MPS: without it, processes on one runlist take turns.
#include "gpulens/measure/sweep.hpp"

#include "gpulens/blocks/program.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/limit/own_mps.hpp"
#include "gpulens/measure/interval.hpp"
#include "gpulens/measure/limited_program.hpp"
#include "gpulens/measure/neighbour.hpp"
#include "gpulens/measure/probe.hpp"
#include "gpulens/measure/sweep_record.hpp"
#include "gpulens/out/progress.hpp"
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
#include <map>
#include <regex.h>
#include <set>
#include <tuple>
#include <utility>

namespace tool::measure {

using gpulens::VerifiedLimit;
using gpulens::VerifiedLimits;
using json = nlohmann::ordered_json;

namespace {

constexpr int SWEEP_JSON_VERSION = 1;
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

using TaskTimes = std::vector<std::pair<std::string, double>>; // us

TaskTimes run_program_once(const SweepOptions &options, const VerifiedLimit &limit, const std::string &title)
{
	std::string task = options.name.empty() ? task_name(options.program[0]) : options.name;
	Finished finished = CapturedProgram(options.program, &limit, !options.pattern.empty()).finish();
	std::vector<double> times = {finished.elapsed_us};
	TaskTimes found;

	require_success(fmt::format("{} {}", options.program[0], title), finished.status);
	if (!options.pattern.empty())
		times = find_times(finished.output, options.pattern, options.unit_us);
	for (double us : times)
		found.emplace_back(task, us);
	return found;
}

// A time for each kernel: from the start of its first block to the end of its last one.
TaskTimes run_scenario_once(const SweepOptions &options, const blocks::Scenario &scenario, const VerifiedLimit &limit)
{
	blocks::Log log = blocks::run_scenario(limited_probe(options.probe, limit), scenario);
	blocks::Within within = check_limit(log, limit);
	TaskTimes found;

	if (!within.outside.empty()) {
		std::string text = within_text(within);
		throw Error(Error::Failed, fmt::format("the limit did not hold: {}", text.substr(0, text.find('\n'))));
	}
	for (const blocks::Ran &k : log.kernels)
		found.emplace_back(k.name, static_cast<double>(k.last_end() - k.first_start()) / 1000);
	return found;
}

blocks::Scenario load_scenario(const SweepOptions &options, const VerifiedLimit &limit)
{
	blocks::Machine machine = blocks::probe_machine(limited_probe(options.probe, limit));
	blocks::Scenario scenario = options.scenario == MATRIX_COPY ? matrix_copy(machine)
								    : blocks::load_scenario(options.scenario, machine);

	blocks::check_fits(scenario, machine);
	return scenario;
}

// The limits of a sweep.
struct Partitions {
	VerifiedLimits own;                  // one of each size
	std::map<u32, VerifiedLimit> others; // by size, but for the whole GPU: all other TPCs, for neighbours
};

Partitions verify_partitions(const Options &options, const SweepOptions &sweep_options)
{
	VerifiedLimits all = gpulens::verify_limits(named_gpu(options), [&](const gpulens::Layout &layout) {
		std::vector<gpulens::TpcMask> masks;
		std::vector<u32> sizes = parse_sizes(sweep_options.sizes, layout.map.tpcs);
		masks.reserve(2 * sizes.size());
		for (u32 size : sizes)
			masks.push_back(
				layout.make_masks({size}, sweep_options.placing, gpulens::TpcMask(layout.map.tpcs))[0]);
		for (size_t i = 0; i < sizes.size() && !sweep_options.beside.empty(); i++)
			if (sizes[i] < layout.map.tpcs)
				masks.push_back(layout.complement(masks[i]));
		return masks;
	});
	auto first = all.limits.begin() + static_cast<ptrdiff_t>(parse_sizes(sweep_options.sizes, all.tpcs).size());
	Partitions partitions;

	if (sweep_options.on_mps)
		gpulens::require_mps(all.limits.front(), "--on mps");
	for (auto other = first; other != all.limits.end(); ++other)
		partitions.others[all.tpcs - static_cast<u32>(other->tpcs.size())] = std::move(*other);
	all.limits.erase(first, all.limits.end());
	partitions.own = std::move(all);
	return partitions;
}

std::string samples_csv(const std::vector<Sample> &samples, bool beside)
{
	std::string text = beside ? "task,tpcs,time_us,beside\n" : "task,tpcs,time_us\n";

	for (const Sample &s : samples)
		text += fmt::format("{},{},{:.3f}{}\n", s.task, s.tpcs, s.us, beside ? "," + s.beside : "");
	return text;
}

using Group = std::tuple<std::string, u32, std::string>; // task, TPCs, neighbour

std::map<Group, std::vector<double>> group_samples(const std::vector<Sample> &samples)
{
	std::map<Group, std::vector<double>> groups;

	for (const Sample &s : samples)
		groups[{s.task, s.tpcs, s.beside}].push_back(s.us);
	return groups;
}

json samples_json(const SweepOptions &options, const VerifiedLimits &verified, const std::vector<Sample> &samples)
{
	json limits = json::array(), list = json::array(), intervals = json::array();

	for (const VerifiedLimit &limit : verified.limits)
		limits.push_back({{"size", limit.tpcs.size()}, {"tpcs", limit.tpcs}, {"gpcs", limit.gpcs}});
	for (const Sample &s : samples)
		list.push_back(
			{{"task", s.task}, {"tpcs", s.tpcs}, {"beside", s.beside}, {"run", s.run}, {"time_us", s.us}});
	for (const auto &[group, times] : group_samples(samples)) {
		Interval interval = interval_of(times);
		intervals.push_back(
			{{"task", std::get<0>(group)},
			 {"tpcs", std::get<1>(group)},
			 {"beside", std::get<2>(group)},
			 {"times", times.size()},
			 {"mean_us", interval.mean},
			 {"half_width_us", interval.half_width ? json(*interval.half_width) : json(nullptr)},
			 {"longest_us", *std::max_element(times.begin(), times.end())}});
	}
	return {{"version", SWEEP_JSON_VERSION},
		{"command", "sweep"},
		{"gpu", verified.limits.front().pci},
		{"on", options.on_mps ? "mps" : "masks"},
		{"placing", plan::placing_name(options.placing)},
		{"partitions", limits},
		{"times", list},
		{"intervals", intervals}};
}

// What a record of runs must agree on.
json identity_of(const SweepOptions &options, const VerifiedLimits &verified)
{
	json sizes = json::array();

	for (const VerifiedLimit &limit : verified.limits)
		sizes.push_back(limit.tpcs.size());
	return {{"sweep", SWEEP_JSON_VERSION},
		{"gpu", verified.limits.front().pci},
		{"program", options.program},
		{"scenario", options.scenario},
		{"name", options.name},
		{"time", options.pattern},
		{"unit_us", options.unit_us},
		{"on", options.on_mps ? "mps" : "masks"},
		{"placing", plan::placing_name(options.placing)},
		{"sizes", sizes},
		{"beside", options.beside}};
}

// Returns the name of the file for runs; empty if the output is no file that stays, as /dev/stdout.
std::string record_name(const std::string &output)
{
	std::error_code err;

	if (output.empty() || !std::filesystem::exists(output, err))
		return output.empty() ? "" : output + ".partial";
	std::filesystem::path file =
		std::filesystem::canonical(output, err); // none: deleted, as one behind /dev/stdout
	return !err && std::filesystem::is_regular_file(file, err) ? file.string() + ".partial" : "";
}

// Runs all sizes, alone and beside each neighbour, round by round.
class Sweep {
public:
	Sweep(const SweepOptions &options, const Partitions &partitions, SweepRecord &record)
		: options_(options), partitions_(partitions), record_(record)
	{
		if (options_.program.empty())
			scenario_ = load_scenario(options_, partitions_.own.limits.back());
		for (const VerifiedLimit &limit : partitions_.own.limits) {
			cases_.push_back({&limit, "none"});
			// The whole GPU leaves nothing for a neighbour.
			for (const std::string &kind : options_.beside)
				if (limit.tpcs.size() < partitions_.own.tpcs)
					cases_.push_back({&limit, kind});
		}
		for (const Run &run : record_.earlier())
			take(run);
	}

	// All sizes in each round, so that a GPU that slows down over time does not look like a size.
	void run()
	{
		for (u32 round = 1; round <= options_.repeat; round++)
			for (const Case &c : cases_)
				if (!done_.contains({c.tpcs(), c.beside, round}) && !is_settled(c))
					run_case(c, round);
	}

	const std::vector<Sample> &samples() const { return samples_; }
	// Returns the groups of times whose interval is wider than wanted.
	std::vector<Group> wide_groups() const
	{
		std::vector<Group> wide;

		for (const auto &[group, times] : group_samples(samples_))
			if (options_.within > 0 && !interval_of(times).is_within(options_.within))
				wide.push_back(group);
		return wide;
	}

private:
	struct Case {
		const VerifiedLimit *limit;
		std::string beside;

		u32 tpcs() const { return static_cast<u32>(limit->tpcs.size()); }
	};

	// Whether the times of the case have the interval that is wanted.
	bool is_settled(const Case &c) const
	{
		bool settled = options_.within > 0, any = false;

		for (const auto &[group, times] : group_samples(samples_))
			if (std::get<1>(group) == c.tpcs() && std::get<2>(group) == c.beside) {
				any = true;
				settled = settled && interval_of(times).is_within(options_.within);
			}
		return any && settled;
	}

	TaskTimes time_case(const Case &c, const std::string &title) const
	{
		return scenario_ ? run_scenario_once(options_, *scenario_, *c.limit)
				 : run_program_once(options_, *c.limit, title);
	}

	void run_case(const Case &c, u32 round)
	{
		std::string title = fmt::format("on {} TPC{}{}", c.tpcs(), c.tpcs() == 1 ? "" : "s",
						c.beside == "none" ? "" : " beside " + c.beside);
		Run run{.tpcs = c.tpcs(), .number = round, .beside = c.beside};

		bar_.show(done_.size(), cases_.size() * options_.repeat, title);
		if (!std::exchange(warm_, true))
			time_case(c, title); // the first run takes longer, and does not count
		std::optional<Neighbour> neighbour;
		if (c.beside != "none")
			neighbour.emplace(probe_path_of(options_.probe), &partitions_.others.at(c.tpcs()), c.beside);
		run.us = time_case(c, title);
		if (neighbour && !neighbour->is_running())
			throw Error(Error::Failed, fmt::format("{}: the neighbour ended by itself", title));
		record_.add(run);
		take(run);
		for (const auto &[task, us] : run.us)
			if (!bar_.is_shown())
				fmt::print(stderr, "gpulens: {} {} ({}), run {} of {}: {:.3f} us\n", task, title,
					   format_ranges(c.limit->tpcs), round, options_.repeat, us);
	}

	void take(const Run &run)
	{
		done_.insert({run.tpcs, run.beside, run.number});
		for (const auto &[task, us] : run.us)
			samples_.push_back({task, run.tpcs, run.number, run.beside, us});
	}

	const SweepOptions &options_;
	const Partitions &partitions_;
	SweepRecord &record_;
	std::optional<blocks::Scenario> scenario_;
	std::vector<Case> cases_;
	std::set<std::tuple<u32, std::string, u32>> done_; // TPCs, neighbour, round
	std::vector<Sample> samples_;
	ProgressBar bar_;
	bool warm_ = false; // a run was made
};

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
		sizes.insert({std::max(1U, 3 * tpcs / 4), tpcs}); // with three quarters, fit knows the class
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
	if (!sweep_options.pattern.empty())
		Regex{sweep_options.pattern}; // before anything runs
	require_preloadable(sweep_options.program.empty() ? std::vector<std::string>{probe_path_of(sweep_options.probe)}
							  : sweep_options.program);
	std::optional<OwnMps> daemon;
	if (sweep_options.on_mps)
		daemon.emplace();
	Partitions partitions = verify_partitions(options, sweep_options);
	const VerifiedLimits &verified = partitions.own;
	SweepRecord record(record_name(sweep_options.file), identity_of(sweep_options, verified), sweep_options.resume);
	std::vector<Sample> samples;
	try {
		Sweep sweep(sweep_options, partitions, record);
		sweep.run();
		samples = sweep.samples();
		for (const auto &[task, tpcs, beside] : sweep.wide_groups())
			fmt::print(stderr, "gpulens: {} on {} TPC{}{}: after {} runs its interval is wider than {} %\n",
				   task, tpcs, tpcs == 1 ? "" : "s", beside == "none" ? "" : " beside " + beside,
				   sweep_options.repeat, sweep_options.within * 100);
	} catch (...) {
		record.remove_if_empty();
		throw;
	}
	std::string csv = samples_csv(samples, !sweep_options.beside.empty());
	if (!sweep_options.file.empty())
		write_file(sweep_options.file, csv);
	record.remove();
	if (options.json)
		return print_text(json_text(samples_json(sweep_options, verified, samples))) ? EXIT_DONE : EXIT_PART;
	return !sweep_options.file.empty() || print_text(csv) ? EXIT_DONE : EXIT_PART;
}

} // namespace tool::measure
