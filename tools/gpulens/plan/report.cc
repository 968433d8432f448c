// SPDX-License-Identifier: GPL-2.0
// Writes a plan as text and as JSON (docs/plan-schema.json).
#include "gpulens/out/text.hpp"
#include "gpulens/plan/plan.hpp"
#include "lib/base/format.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr int PLAN_JSON_VERSION = 1;

// Returns "1 task", "2 tasks".
std::string count_text(size_t n, const char *noun)
{
	return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

// Returns the name of the heuristic and what differs from its default reading.
std::string attempt_text(const Attempt &attempt)
{
	std::string text = attempt.name;

	if (!attempt.heuristic.merges())
		return text;
	if (attempt.heuristic.start != Start::Largest)
		text += fmt::format(", start {}", start_name(attempt.heuristic.start));
	if (attempt.heuristic.order == Order::Sms && attempt.heuristic.ties != Ties::First)
		text += fmt::format(", ties {}", ties_name(attempt.heuristic.ties));
	if (attempt.heuristic.together)
		text += ", memory tasks together";
	return text;
}

u32 count_spare(const Plan &plan)
{
	u32 spare = plan.allocation().tpcs();

	for (u32 tpcs : plan.needed)
		spare -= tpcs;
	return spare;
}

std::string verdict_text(const Plan &plan)
{
	const Allocation &a = plan.allocation();
	u32 reserved = plan.reserved;
	std::string out = plan.gpu.empty() ? "" : plan.gpu + '\n';

	out += fmt::format("{} on {}{}, test {}: ", count_text(plan.file.tasks.size(), "task"),
			   count_text(plan.map.tpcs - reserved, "TPC"),
			   reserved ? fmt::format(" ({} reserved)", reserved) : "", criterion_name(plan.test));
	if (a.fits)
		out += fmt::format("fits by {}; {} in {}{}", attempt_text(plan.tried.back()),
				   count_text(a.tpcs(), "TPC"), count_text(a.partitions.size(), "partition"),
				   count_spare(plan) ? fmt::format(", {} of them spare", count_spare(plan)) : "") +
		       (a.partitions.size() > 1 ? fmt::format("\nHolds for {}", holds_text(plan)) : "");
	else
		out += plan.is_refuted() ? "does not fit"
		       : plan.gave_up()  ? "unknown, the test gave up after too many steps"
					 : "no plan was found; one may exist";
	return out + fmt::format("\nLemma 1: at least {:.2f} TPCs are needed{}\n", a.least_tpcs,
				 a.too_much ? ", more than there are: nothing was tried" : "");
}

std::string tried_text(const Plan &plan, const Style &style)
{
	Table t({"<Tried", "TPCs wanted"});

	for (const Attempt &attempt : plan.tried)
		t.add({attempt_text(attempt),
		       attempt.allocation.partitions.empty() ? "-" : std::to_string(attempt.allocation.tpcs())});
	return t.str(style);
}

std::string partitions_text(const Plan &plan, const Style &style)
{
	std::vector<std::string> titles{"Partition", "TPCs", "~Needed", "~Load", "~Slack"};
	Problem problem = plan.problem();
	const std::vector<Partition> &partitions = plan.allocation().partitions;

	if (!plan.masks.empty())
		titles.insert(titles.end(), {"~<GPCs", "<Which", "~<Mask"});
	if (!plan.instances.empty())
		titles.insert(titles.end(), {"Profile", "<Name", "Memory slices"});
	Table t(titles);
	for (size_t i = 0; i < partitions.size(); i++) {
		std::vector<Cell> row{std::to_string(i), std::to_string(partitions[i].tpcs),
				      std::to_string(plan.needed[i]),
				      fmt::format("{:.3f}", problem.load(partitions[i].tasks, partitions[i].tpcs)),
				      fmt::format("{:.1f} %", plan.slack[i] * 100)};
		if (!plan.masks.empty()) {
			row.emplace_back(format_ranges(gpcs_of(plan.map, plan.masks[i])));
			row.emplace_back(format_ranges(plan.masks[i].tpcs()));
			row.emplace_back(plan.masks[i].hex());
		}
		if (!plan.instances.empty()) {
			const MigInstance &instance = plan.instances[i];
			row.emplace_back(std::to_string(instance.profile->id));
			row.emplace_back(instance.profile->name);
			row.emplace_back(fmt::format("{}:{}", instance.start, instance.profile->memory_slices));
		}
		t.add(std::move(row));
	}
	return t.str(style);
}

// A task as it was planned.
struct Placed {
	const Task &task;
	size_t partition; // index
	bool conflict;    // another task of its class is in its partition
	double beside;    // factor because of tasks in other partitions
	u64 time_ns;
};

// Calls take(Placed) in the order of partitions.
template <typename Take> void each_task(const Plan &plan, Take take)
{
	const std::vector<Partition> &partitions = plan.allocation().partitions;
	Problem problem = plan.problem();

	for (size_t i = 0; i < partitions.size(); i++) {
		Situation situation = problem.situation_of(partitions[i].tasks);
		for (u32 index : partitions[i].tasks) {
			const Task &t = plan.file.tasks[index];
			bool conflict =
				t.kind == Class::Memory ? situation.memory_conflict : situation.compute_conflict;
			take(Placed{t, i, conflict, beside_factor(t, situation),
				    time_in(t, partitions[i].tpcs, situation)});
		}
	}
}

std::string tasks_text(const Plan &plan, const Style &style)
{
	Table t({"Partition", "<Task", "~<Class", "~<Conflict", "~Beside", "Time us", "Deadline us", "~Period us"});

	each_task(plan, [&](const Placed &p) {
		t.add({std::to_string(p.partition), p.task.name, class_name(p.task.kind), p.conflict ? "yes" : "no",
		       fmt::format("{:.2f}", p.beside), us_text(p.time_ns), us_text(p.task.deadline_ns),
		       us_text(p.task.period_ns)});
	});
	return t.str(style);
}

std::string numbering_text(const Plan &plan)
{
	if (plan.masks.empty())
		return "";
	return plan.map.numbering == TpcNumbering::BySmid
		       ? "TPCs are numbered in the order of %smid, as gpulens run takes them\n"
		       : "TPCs are numbered GPC by GPC, as in tpc_map; gpulens run takes them in the order of %smid "
			 "(plan with --source rm)\n";
}

json us_json(u64 ns)
{
	return ns == NEVER ? json(nullptr) : json(double(ns) / 1000);
}

json partitions_json(const Plan &plan)
{
	Problem problem = plan.problem();
	json list = json::array();

	for (size_t i = 0; i < plan.allocation().partitions.size(); i++) {
		const Partition &p = plan.allocation().partitions[i];
		json partition{{"tpcs", p.tpcs},
			       {"needed_tpcs", plan.needed[i]},
			       {"load", problem.load(p.tasks, p.tpcs)},
			       {"slack", plan.slack[i]},
			       {"tasks", json::array()}};
		for (u32 task : p.tasks)
			partition["tasks"].push_back(plan.file.tasks[task].name);
		partition["place"] = nullptr;
		if (!plan.masks.empty())
			partition["place"] = {{"gpcs", gpcs_of(plan.map, plan.masks[i])},
					      {"tpcs", plan.masks[i].tpcs()},
					      {"mask", plan.masks[i].hex()},
					      {"disable_mask", plan.masks[i].disable_hex()}};
		partition["mig"] = nullptr;
		if (!plan.instances.empty()) {
			const MigInstance &instance = plan.instances[i];
			partition["mig"] = {{"profile", instance.profile->id},
					    {"name", instance.profile->name},
					    {"sms", instance.profile->sms},
					    {"first_memory_slice", instance.start},
					    {"memory_slices", instance.profile->memory_slices}};
		}
		list.push_back(std::move(partition));
	}
	return list;
}

std::string place_text(const Plan &plan)
{
	std::string text;

	if (!plan.on)
		return "";
	text = fmt::format("Carried out by {}\n", carrier_text(plan));
	for (const std::string &command : commands_of(plan))
		text += "    " + command + '\n';
	return text;
}

} // namespace

std::string plan_text(const Plan &plan, const Style &style)
{
	std::string out = verdict_text(plan);

	if (plan.allocation().fits)
		out += partitions_text(plan, style) + tasks_text(plan, style) + numbering_text(plan) + place_text(plan);
	else
		out += tried_text(plan, style);
	return out + notes_text(plan.notes, style);
}

json plan_json(const Plan &plan)
{
	const Allocation &a = plan.allocation();
	json j, tasks = json::array(), tried = json::array(), impossible = json::array();

	if (a.fits)
		each_task(plan, [&](const Placed &p) {
			tasks.push_back({{"name", p.task.name},
					 {"partition", p.partition},
					 {"class", class_name(p.task.kind)},
					 {"conflict", p.conflict},
					 {"beside", p.beside},
					 {"time_us", us_json(p.time_ns)},
					 {"deadline_us", us_json(p.task.deadline_ns)},
					 {"period_us", us_json(p.task.period_ns)}});
		});
	for (const Attempt &attempt : plan.tried) {
		const Allocation &allocation = attempt.allocation;
		const Heuristic &h = attempt.heuristic;
		bool merges = h.merges();
		tried.push_back({{"heuristic", attempt.name},
				 {"start", merges ? json(start_name(h.start)) : json(nullptr)},
				 {"ties", merges && h.order == Order::Sms ? json(ties_name(h.ties)) : json(nullptr)},
				 {"memory_together", merges && h.together},
				 {"fits", allocation.fits},
				 {"gave_up", !allocation.fits && allocation.gave_up > 0},
				 {"tpcs", allocation.partitions.empty() ? json(nullptr) : json(allocation.tpcs())}});
	}
	for (u32 task : a.impossible)
		impossible.push_back(plan.file.tasks[task].name);
	j["version"] = PLAN_JSON_VERSION;
	j["command"] = "plan";
	j["fits"] = a.fits;
	j["gave_up"] = plan.gave_up();
	j["refuted"] = plan.is_refuted();
	j["gpu"] = plan.gpu.empty() ? json(nullptr) : json(plan.gpu);
	j["device"] = plan.device.empty() ? json(nullptr) : json(plan.device);
	j["numbering"] = plan.map.gpcs.empty() ? json(nullptr) : json(numbering_name(plan.map.numbering));
	j["tpcs"] = plan.map.tpcs;
	j["reserved_tpcs"] = plan.reserved;
	j["quantum"] = plan.sizes.quantum;
	j["least"] = plan.sizes.least;
	j["test"] = criterion_name(plan.test);
	j["control_us"] = double(plan.sharing.costs.control) / 1000;
	j["switch_us"] = double(plan.sharing.costs.switching) / 1000;
	j["serial"] = plan.sharing.serial;
	j["memory"] = plan.sharing.separate_memory ? "separate" : "shared";
	j["heuristic"] = a.fits ? json(plan.tried.back().name) : json(nullptr);
	j["on"] = place_name(plan.on.value_or(Place::Masks));
	j["commands"] = commands_of(plan);
	j["placing"] = plan.masks.empty() ? json(nullptr) : json(placing_name(plan.placing));
	j["lemma1_tpcs"] = a.least_tpcs;
	j["partitions"] = a.fits ? partitions_json(plan) : json::array();
	j["tasks"] = tasks;
	j["tried"] = tried;
	j["impossible"] = impossible;
	j["notes"] = plan.notes;
	return j;
}

std::vector<std::string> impossible_texts(const Plan &plan)
{
	std::vector<std::string> texts;
	u32 most = plan.sizes.largest();

	for (u32 i : plan.allocation().impossible) {
		const Task &t = plan.file.tasks[i];
		u64 time = t.time_ns(most, false);
		texts.push_back(fmt::format(
			"task \"{}\" fits nowhere: {}, and its deadline is {} us", t.name,
			time == NEVER
				? fmt::format("no time of it is known with {} or fewer", count_text(most, "TPC"))
				: fmt::format("alone on {} it takes {} us", count_text(most, "TPC"), us_text(time)),
			us_text(t.deadline_ns)));
	}
	return texts;
}

} // namespace tool::plan
