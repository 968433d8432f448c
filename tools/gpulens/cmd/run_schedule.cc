// SPDX-License-Identifier: GPL-2.0
// Parts after task=NAME are accepted only if each sets what no earlier part has set, so the slice and the gate come once at
// most. Only slices and budgets need a measured verb; a task is checked by its coordinator.
#include "gpulens/cmd/run_schedule.hpp"

#include "gpulens/cmd/schedule_support.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/launch/agent_page.hpp"
#include "lib/launch/environment.hpp"
#include "lib/turns/turn_file.hpp"

#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>

namespace tool {

namespace {

// Decisions. The driver's watchdog wants a turn within 4 s, so no slice is longer than a second. A best-effort program gives the
// GPU away after 250 us; with 50 us, an H100 lost 6 % (docs/results/2026-11-26-h100-schedule.md). Two programs with shorter ones
// change context without work, and stall each other (docs/results/2026-11-29-h200-small-slices.md).
constexpr u64 URGENT_US = 500000, BEST_EFFORT_US = 250, SHARE_US = 2000, MIN_SLICE_US = 50, MAX_SLICE_US = 1000000;
constexpr u32 MAX_SHARE = 100;
// A hold and a release take 0.8 ms together, and the agent releases after 0.9 s at most.
constexpr u64 MIN_PERIOD_US = 5000, MIN_RUN_US = 1000, MAX_HELD_US = 800000;

struct Parsed {
	std::string error;
	u64 slice_us = 0; // 0: as it is
	u64 run_us = 0, period_us = 0;
	std::string task{}; // empty: none
	bool gate = false;
};

Parsed parse_slice(std::string_view text)
{
	std::optional<u64> ns = parse_duration(std::string(text), 1000);
	u64 us = ns.value_or(0) / 1000;

	if (!ns || us < MIN_SLICE_US || us > MAX_SLICE_US)
		return {.error = fmt::format("not a time slice of 50us to 1s: {}", text)};
	return {.error = "", .slice_us = us};
}

Parsed parse_share(std::string_view text)
{
	u32 weight = 0;
	auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), weight);

	if (err != std::errc{} || end != text.data() + text.size() || weight < 1 || weight > MAX_SHARE)
		return {.error = fmt::format("not a share of 1 to {}: {}", MAX_SHARE, text)};
	return {.error = "", .slice_us = weight * SHARE_US};
}

Parsed parse_budget(std::string_view text)
{
	size_t slash = text.find('/');
	std::optional<u64> run, period;

	if (slash != text.npos) {
		run = parse_duration(std::string(text.substr(0, slash)), 1000);
		period = parse_duration(std::string(text.substr(slash + 1)), 1000);
	}
	if (!run || !period)
		return {.error = fmt::format("not a budget such as 2ms/10ms: {}", text)};
	u64 run_us = *run / 1000, period_us = *period / 1000;
	if (run_us >= period_us)
		return {.error = fmt::format("the budget is not below the period: {}", text)};
	if (period_us < MIN_PERIOD_US || run_us < MIN_RUN_US)
		return {.error = fmt::format("a budget has 1ms at least, of a period of 5ms at least: {}", text)};
	if (period_us - run_us > MAX_HELD_US)
		return {.error = fmt::format("a program is held for 800ms at most: {}", text)};
	return {.error = "", .run_us = run_us, .period_us = period_us};
}

// Names as in policies (Item::name()); a comma separates.
Parsed parse_task(std::string_view text)
{
	bool good = !text.empty() && text.size() < gpulens::AgentPage::MAX_TASK;

	for (char c : text)
		good = good && c > ' ' && c <= '~';
	if (!good)
		return {.error = fmt::format("not a task's name of up to 63 printable characters: {}", text)};
	return {.error = "", .task = std::string(text)};
}

Parsed parse_part(const std::string &what)
{
	std::string_view text = what;

	if (text.starts_with("task="))
		return parse_task(text.substr(5));
	if (what == "gate")
		return {.error = "", .gate = true};
	if (what == "urgent")
		return {.error = "", .slice_us = URGENT_US};
	if (what == "best-effort")
		return {.error = "", .slice_us = BEST_EFFORT_US};
	if (text.starts_with("share="))
		return parse_share(text.substr(6));
	if (text.starts_with("slice="))
		return parse_slice(text.substr(6));
	if (text.starts_with("budget="))
		return parse_budget(text.substr(7));
	return {.error = fmt::format("not urgent, best-effort, share=N, slice=TIME, budget=TIME/TIME or task=NAME: {}",
				     what)};
}

// One of these, or a task with one that sets the time slice, with gate, or with both.
Parsed parse_schedule(const std::string &what)
{
	Parsed whole;

	for (size_t start = 0, comma; start != what.npos; start = comma == what.npos ? comma : comma + 1) {
		comma = what.find(',', start);
		Parsed part = parse_part(what.substr(start, comma == what.npos ? comma : comma - start));
		if (!part.error.empty())
			return part;
		if (!start) {
			whole = part;
			continue;
		}
		bool another = (part.slice_us && !whole.slice_us) || (part.gate && !whole.gate);
		if (whole.task.empty() || !another)
			return {.error = fmt::format("only task=NAME, a time slice and gate go together: {}", what)};
		whole.slice_us = part.slice_us ? part.slice_us : whole.slice_us;
		whole.gate |= part.gate;
	}
	if (whole.gate && whole.task.empty())
		return {.error = fmt::format("only task=NAME, a time slice and gate go together: {}", what)};
	return whole;
}

} // namespace

std::string check_schedule(const std::string &what)
{
	return parse_schedule(what).error;
}

void schedule_program(const Options &options, const RunSchedule &schedule, RunOptions &run)
{
	Parsed parsed = parse_schedule(schedule.what);

	if (!parsed.error.empty())
		throw Error(Error::Input, "--schedule: " + parsed.error);
	if (!schedule.experimental) {
		try {
			if (parsed.slice_us)
				require_verb(options.sources.gpus, schedule.probed, VERB_FIRST_SLICE, schedule.measure);
			if (parsed.period_us)
				require_verb(options.sources.gpus, schedule.probed, VERB_HOLD, schedule.measure);
		} catch (const Error &e) {
			throw Error(e.code, fmt::format("--schedule {}: {}", schedule.what, e.what()));
		}
	}
	run.limits |= gpulens::environment::LIMIT_IN_TIME;
	if (parsed.slice_us)
		run.environment[gpulens::environment::SCHEDULE_SLICE] = std::to_string(parsed.slice_us);
	auto set_folder = [&run] {
		run.environment[gpulens::environment::SCHEDULE_FOLDER] =
			std::filesystem::absolute(turns::make_runtime_folder());
	};
	if (parsed.period_us) {
		run.environment[gpulens::environment::SCHEDULE_BUDGET] =
			fmt::format("{}/{}", parsed.run_us, parsed.period_us);
		try {
			set_folder();
		} catch (const Error &) { // the budget is enforced without a folder, where top and export look for it
		}
	}
	if (!parsed.task.empty()) {
		set_folder();
		run.environment[gpulens::environment::SCHEDULE_TASK] = parsed.task;
	}
	if (parsed.gate) {
		run.environment[gpulens::environment::SCHEDULE_GATE] = "1";
		run.preload.push_back(gpulens::environment::GATE_LIBRARY);
	}
}

} // namespace tool
