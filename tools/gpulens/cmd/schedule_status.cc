// SPDX-License-Identifier: GPL-2.0
// The thread that writes is detached and shares ownership of the Writer, because it may be stuck in a file system for longer
// than the destructor waits (100 ms).
#include "gpulens/cmd/schedule_status.hpp"

#include "gpulens/cmd/schedule_loop.hpp"
#include "gpulens/out/output.hpp"
#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/base/process_info.hpp"
#include "lib/schedule/live/agent_link.hpp"
#include "lib/turns/turn_file.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <fmt/format.h>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool {

using namespace schedule;
using json = nlohmann::ordered_json;

namespace {

constexpr u64 MAX_AGE_NS = 5000000000;

const char *name_state(const Coordinator &coordinator, size_t task)
{
	if (coordinator.is_chosen(task))
		return "chosen";
	if (coordinator.held(task))
		return "held";
	return coordinator.scheduler(task).ready(task) ? "ready" : "idle";
}

std::string status_text(const json &status)
{
	Table table({"<Task", "<State", "Charged", "Jobs", "Missed", "Worst", "Holds", "Refused", "Used up",
		     "<Parameters"});

	for (const json &t : status.at("tasks"))
		table.add({t.at("name").get<std::string>(), t.at("state").get<std::string>(),
			   format_duration(t.at("ran_ns").get<u64>()), std::to_string(t.at("jobs").get<u64>()),
			   std::to_string(t.at("missed").get<u64>()),
			   format_duration(t.at("worst_response_ns").get<u64>()),
			   std::to_string(t.at("holds").get<u64>()), std::to_string(t.at("refused").get<u64>()),
			   std::to_string(t.at("budgets_used_up").get<u64>()), t.at("parameters").get<std::string>()});
	return fmt::format("policy {} by process {}, {} leases lost\n", status.at("policy").get<std::string>(),
			   status.at("pid").get<u32>(), status.at("lost_leases").get<u64>()) +
	       table.str({}) + late_text(status.at("tasks"));
}

// A program of gpulens run --schedule budget=.
struct BudgetProgram {
	u32 pid = 0;
	std::string process; // its name
	u64 budget_ns = 0, period_ns = 0;
	u32 holds = 0, refused = 0;
	bool held = false;

	const char *state() const { return refused ? "not enforced" : held ? "held" : "runs"; }
};

// In the order of their process ids.
std::vector<BudgetProgram> read_budgets()
{
	std::vector<BudgetProgram> found;

	for (const auto &agent : find_agents(turns::own_runtime_folder())) {
		const AgentPage &page = agent->page();
		std::string process = process_name(page.pid);
		if (!page.period_ns || process.empty())
			continue;
		found.push_back({.pid = page.pid,
				 .process = process,
				 .budget_ns = page.budget_ns,
				 .period_ns = page.period_ns,
				 .holds = page.budget_holds,
				 .refused = page.budget_refused,
				 .held = page.held_since != 0});
	}
	std::sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.pid < b.pid; });
	return found;
}

std::string budgets_text(const std::vector<BudgetProgram> &programs)
{
	Table table({"Process", "<Name", "<State", "Budget", "Period", "Holds"});

	for (const BudgetProgram &p : programs)
		table.add({std::to_string(p.pid), replace_controls(p.process), p.state(), format_duration(p.budget_ns),
			   format_duration(p.period_ns), std::to_string(p.holds)});
	return table.empty() ? "" : table.str({});
}

} // namespace

struct ScheduleStatus::Writer {
	std::string path;
	std::mutex lock; // of what follows
	std::condition_variable changed;
	std::string text; // to be written; empty: nothing is
	bool busy = false, stop = false;

	void write_texts()
	{
		std::unique_lock<std::mutex> hold(lock);

		for (;;) {
			changed.wait(hold, [this] { return stop || !text.empty(); });
			if (stop)
				return;
			busy = true;
			std::string bytes = std::exchange(text, "");
			hold.unlock();
			try {
				write_file(path, bytes);
			} catch (const Error &) {
				unlink(path.c_str());
			}
			hold.lock();
			busy = false;
			changed.notify_all();
		}
	}
};

ScheduleStatus::ScheduleStatus(const std::string &folder) : writer_(std::make_shared<Writer>())
{
	sigset_t all, before;

	writer_->path = folder + "/schedule-status.json";
	sigfillset(&all); // signals are for the main thread
	pthread_sigmask(SIG_BLOCK, &all, &before);
	std::thread([writer = writer_] { writer->write_texts(); }).detach();
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ScheduleStatus::~ScheduleStatus()
{
	std::unique_lock<std::mutex> hold(writer_->lock);

	writer_->stop = true;
	writer_->changed.notify_all();
	writer_->changed.wait_for(hold, std::chrono::milliseconds(100), [this] { return !writer_->busy; });
	unlink(writer_->path.c_str());
}

void ScheduleStatus::update(const Coordinator &coordinator, Policy policy, u64 now)
{
	if (now < next_)
		return;
	next_ = now + EVERY_NS;
	json status = summary_json(coordinator, policy);
	status["pid"] = getpid();
	status["time_ns"] = now;
	for (size_t i = 0; i < coordinator.tasks().size(); i++) {
		status["tasks"][i]["state"] = name_state(coordinator, i);
		status["tasks"][i]["parameters"] = describe_task(policy, coordinator.tasks()[i]);
	}
	std::lock_guard<std::mutex> hold(writer_->lock);
	writer_->text = json_text(status);
	writer_->changed.notify_all();
}

std::optional<json> read_schedule_status()
{
	try {
		std::string folder = turns::own_runtime_folder();
		if (folder.empty())
			return std::nullopt;
		json status = json::parse(read_json_file(folder + "/schedule-status.json"));
		u64 time = status.at("time_ns").get<u64>(), now = now_ns();
		if (time > now || now - time > MAX_AGE_NS)
			return std::nullopt;
		Metrics metrics;
		status_text(status); // these throw if something is missing
		add_schedule(metrics, status);
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

	return (status ? status_text(*status) : "") + budgets_text(read_budgets());
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
	Family &late =
		metrics.gauge("gpulens_schedule_late_seconds", "By how much the present job is after its deadline.");
	for (const json &t : status.at("tasks"))
		late.add({{"task", t.at("name").get<std::string>()}},
			 static_cast<double>(t.at("late_now_ns").get<u64>()) / 1e9);
	count("gpulens_schedule_holds_total", "holds", "Holds of a task.");
	count("gpulens_schedule_refused_total", "refused", "Holds and releases that were refused or without effect.");
	count("gpulens_schedule_forced_releases_total", "forced_releases",
	      "Releases because a task was held for the longest time allowed.");
	count("gpulens_schedule_budgets_used_up_total", "budgets_used_up", "Times that a server used up its budget.");
}

void add_budgets(Metrics &metrics)
{
	std::vector<BudgetProgram> programs = read_budgets();

	if (programs.empty())
		return;
	auto add = [&](Family &family, auto value) {
		for (const BudgetProgram &p : programs)
			family.add({{"pid", std::to_string(p.pid)}, {"process", process_label(p.process)}}, value(p));
	};
	add(metrics.gauge("gpulens_budget_seconds", "Time in each period in which a program is not held."),
	    [](const BudgetProgram &p) { return static_cast<double>(p.budget_ns) / 1e9; });
	add(metrics.gauge("gpulens_budget_period_seconds", "The period of a program's budget."),
	    [](const BudgetProgram &p) { return static_cast<double>(p.period_ns) / 1e9; });
	add(metrics.gauge("gpulens_budget_held", "Whether a program is held until its next period."),
	    [](const BudgetProgram &p) { return u64{p.held}; });
	add(metrics.gauge("gpulens_budget_enforced", "Whether the driver carries out the program's holds."),
	    [](const BudgetProgram &p) { return u64{!p.refused}; });
	add(metrics.counter("gpulens_budget_holds_total", "Holds of a program at the end of its budget."),
	    [](const BudgetProgram &p) { return u64{p.holds}; });
}

} // namespace tool
