// SPDX-License-Identifier: GPL-2.0
// See schedule_status.hpp.
#include "gpulens/cmd/schedule_status.hpp"

#include "gpulens/cmd/schedule_loop.hpp"
#include "gpulens/out/output.hpp"
#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/turns/turn_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace tool {

using namespace schedule;
using json = nlohmann::ordered_json;

namespace {

constexpr u64 MAX_AGE_NS = 5000000000;

const char *name_state(const Coordinator &coordinator, size_t task)
{
	if (coordinator.chosen() == static_cast<int>(task))
		return "chosen";
	if (coordinator.held(task))
		return "held";
	return coordinator.scheduler().ready(task) ? "ready" : "idle";
}

std::string status_text(const json &status)
{
	Table table(
		{"<Task", "<State", "Chosen", "Jobs", "Missed", "Worst", "Holds", "Refused", "Used up", "<Parameters"});

	for (const json &t : status.at("tasks"))
		table.add({t.at("name").get<std::string>(), t.at("state").get<std::string>(),
			   format_duration(t.at("ran_ns").get<u64>()), std::to_string(t.at("jobs").get<u64>()),
			   std::to_string(t.at("missed").get<u64>()),
			   format_duration(t.at("worst_response_ns").get<u64>()),
			   std::to_string(t.at("holds").get<u64>()), std::to_string(t.at("refused").get<u64>()),
			   std::to_string(t.at("budgets_used_up").get<u64>()), t.at("parameters").get<std::string>()});
	return fmt::format("policy {} by process {}, {} leases lost\n", status.at("policy").get<std::string>(),
			   status.at("pid").get<u32>(), status.at("lost_leases").get<u64>()) +
	       table.str({});
}

} // namespace

ScheduleStatus::~ScheduleStatus()
{
	unlink(path_.c_str());
}

void ScheduleStatus::update(const Coordinator &coordinator, Policy policy, u64 now)
{
	if (now < next_)
		return;
	next_ = now + EVERY_NS;
	json status = summary_json(coordinator, policy);
	status["pid"] = getpid();
	status["time_ns"] = now;
	for (size_t i = 0; i < coordinator.scheduler().tasks().size(); i++) {
		status["tasks"][i]["state"] = name_state(coordinator, i);
		status["tasks"][i]["parameters"] = describe_task(policy, coordinator.scheduler().tasks()[i]);
	}
	try {
		write_file(path_, json_text(status));
	} catch (const Error &) {
		unlink(path_.c_str());
	}
}

std::optional<json> read_schedule_status()
{
	try {
		json status = json::parse(read_file(turns::runtime_folder() + "/schedule-status.json"));
		u64 time = status.at("time_ns").get<u64>(), now = now_ns();
		if (time > now || now - time > MAX_AGE_NS)
			return std::nullopt;
		status_text(status); // throws if something is missing
		return status;
	} catch (const Error &) {
		return std::nullopt;
	} catch (const json::exception &) {
		return std::nullopt;
	}
}

std::string schedule_status_text()
{
	std::optional<json> status = read_schedule_status();

	return status ? status_text(*status) : "";
}

void add_schedule(Metrics &metrics, const json &status)
{
	auto count = [&](const char *name, const char *key, const char *help) {
		Family &family = metrics.counter(name, help);
		for (const json &t : status.at("tasks"))
			family.add({{"task", t.at("name").get<std::string>()}}, t.at(key).get<u64>());
	};

	metrics.gauge("gpulens_schedule_info", "Policy that a process carries out on this user's programs; always 1.")
		.add({{"policy", status.at("policy").get<std::string>()},
		      {"pid", std::to_string(status.at("pid").get<u32>())}},
		     u64{1});
	metrics.counter("gpulens_schedule_lost_leases_total",
			"Times that all tasks were released, because that process did "
			"not run.")
		.add({}, status.at("lost_leases").get<u64>());
	Family &state =
		metrics.gauge("gpulens_schedule_task_state", "State of a task: chosen, held, ready or idle; 1.");
	for (const json &t : status.at("tasks"))
		state.add({{"task", t.at("name").get<std::string>()}, {"state", t.at("state").get<std::string>()}},
			  u64{1});
	Family &chosen = metrics.counter("gpulens_schedule_chosen_seconds_total", "Time in which a task was chosen.");
	for (const json &t : status.at("tasks"))
		chosen.add({{"task", t.at("name").get<std::string>()}},
			   static_cast<double>(t.at("ran_ns").get<u64>()) / 1e9);
	count("gpulens_schedule_jobs_total", "jobs", "Jobs of a task that ended.");
	count("gpulens_schedule_missed_jobs_total", "missed", "Jobs that ended after their deadline.");
	count("gpulens_schedule_holds_total", "holds", "Holds of a task.");
	count("gpulens_schedule_refused_total", "refused", "Holds and releases that were refused or without effect.");
	count("gpulens_schedule_forced_releases_total", "forced_releases",
	      "Releases because a task was held for the longest time allowed.");
	count("gpulens_schedule_budgets_used_up_total", "budgets_used_up", "Times that a server used up its budget.");
}

} // namespace tool
