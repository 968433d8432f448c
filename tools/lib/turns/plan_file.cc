// SPDX-License-Identifier: GPL-2.0
// See plan_file.hpp; docs/plan-schema.json describes the file.
#include "lib/turns/plan_file.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/json_input.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr double MAX_US = 1e15; // above all times of plans

// Refuses plans whose TPCs are not those of masks.
void check_numbering(const Item &file)
{
	std::string on = file.has("on") ? file.string("on") : "masks";

	if (on == "mig")
		file.refuse("its partitions are MIG instances, and not TPCs; run tasks by the commands of the plan, "
			    "and take turns with GPULENS_TURNS_ONLY");
	if (!file.has("numbering"))
		file.refuse("it does not say how its TPCs are numbered, as plans of older versions do not; plan again");
	const json &numbering = file.at("numbering");
	if (numbering.is_null())
		file.refuse(
			"it is for a number of TPCs and for no GPU, so its tasks have no TPCs; plan with --source rm "
			"instead of --tpcs");
	if (numbering == "gpc")
		file.refuse(
			"its TPCs are numbered GPC by GPC, and masks number them in the order of %smid, which NVIDIA's "
			"driver reports; plan again with --source rm");
	if (numbering != "smid")
		file.refuse(fmt::format("numbering is {}, not gpc or smid", quote_value(numbering)));
}

void check_plan(const Item &file, bool placed = true)
{
	if (!file.has("command") || file.at("command") != "plan")
		file.refuse("it is not a plan; gpulens plan TASKS --json prints one");
	file.integer("version", 1, 1);
	if (file.at("fits") != true)
		file.refuse("the tasks do not fit, so they have no TPCs");
	if (placed)
		check_numbering(file);
}

// Returns the index of the task's partition.
u32 find_partition(const Item &file, const std::string &task, size_t partitions)
{
	std::vector<std::string> names;
	std::optional<u32> found;

	for_each_item(file, "tasks", "task", [&](const Item &item) {
		names.push_back(item.name());
		if (names.back() != task)
			return;
		if (found)
			item.refuse("another task has the same name");
		found = item.integer("partition", 0, MAX_TASKS);
		if (*found >= partitions)
			item.refuse(fmt::format("there is no partition {}", *found));
	});
	if (!found)
		throw Error(Error::Absent, fmt::format("{}: there is no task {}; there are {}", file.where(),
						       quote_value(task), fmt::join(names, ", ")));
	return *found;
}

const json &list_of_partitions(const Item &file)
{
	const json &partitions = file.at("partitions");

	if (!partitions.is_array())
		file.refuse(fmt::format("partitions is {}, not a list", quote_value(partitions)));
	return partitions;
}

PlannedTask place_of(const Item &file, const json &partitions, u32 index)
{
	Item place = Item(partitions[index], fmt::format("{}: partition {}", file.where(), index)).object("place");
	PlannedTask found{.device = file.string("device"),
			  .tpcs = place.numbers("tpcs", MAX_TPCS - 1),
			  .gpcs = place.numbers("gpcs", MAX_TPCS - 1),
			  .on_mps = file.has("on") && file.string("on") == "mps"};

	if (found.tpcs.empty())
		place.refuse("it has no TPC");
	if (parse_mask(place.string("mask")) != found.tpcs)
		place.refuse("its mask is not that of its tpcs");
	return found;
}

u64 read_ns(const Item &item, const char *key)
{
	return static_cast<u64>(std::llround(item.number(key, 0, MAX_US, "us") * 1000));
}

std::vector<turns::TaskRules> read_tasks(const Item &file, u32 partitions)
{
	std::vector<turns::TaskRules> tasks;
	std::set<std::string> names;

	for_each_item(file, "tasks", "task", [&](const Item &item) {
		if (tasks.size() == MAX_TASKS)
			file.refuse(fmt::format("more than {} tasks", MAX_TASKS));
		tasks.push_back({.name = item.name(),
				 .queue = item.integer("partition", 0, MAX_TASKS),
				 .time = read_ns(item, "time_us"),
				 .deadline = read_ns(item, "deadline_us")});
		if (!names.insert(tasks.back().name).second)
			item.refuse("another task has the same name");
		if (tasks.back().queue >= partitions)
			item.refuse(fmt::format("there is no partition {}", tasks.back().queue));
	});
	return tasks;
}

// Returns the order of jobs by which the plan was tested.
turns::Order order_of(const Item &file, const std::vector<turns::TaskRules> &tasks)
{
	std::string test = file.string("test");
	std::set<u32> used;
	std::optional<TestRule> rule = rule_of_test(test);

	if (!rule)
		file.refuse(fmt::format("test {} is unknown", quote_value(test)));
	for (const turns::TaskRules &task : tasks)
		if (!used.insert(task.queue).second && rule->preempts)
			file.refuse(fmt::format(
				"test {} takes jobs to be preempted at any time, and partition {} has several tasks; "
				"plan again with --test np-edf, np-dm, lp-edf, lp-dm or fifo",
				test, task.queue));
	return rule->order;
}

} // namespace

std::optional<TestRule> rule_of_test(const std::string &test)
{
	static const std::map<std::string, TestRule> rules{
		{"edf", {true, turns::Order::Edf}},     {"dm", {true, turns::Order::Dm}},
		{"density", {true, turns::Order::Edf}}, {"np-edf", {false, turns::Order::Edf}},
		{"np-dm", {false, turns::Order::Dm}},   {"lp-edf", {false, turns::Order::Edf}},
		{"lp-dm", {false, turns::Order::Dm}},   {"fifo", {false, turns::Order::Fifo}}};
	auto found = rules.find(test);

	return found == rules.end() ? std::nullopt : std::optional(found->second);
}

PlannedTask find_planned_task(const std::string &text, const std::string &name, const std::string &task)
{
	json whole = parse_json(text, name);
	Item file(whole, name);

	check_plan(file);
	const json &partitions = list_of_partitions(file);
	return place_of(file, partitions, find_partition(file, task, partitions.size()));
}

std::string PlanFile::turns_name() const
{
	std::string name = "plan-" + (device.empty() ? "any" : device);

	for (char &c : name)
		if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != ':')
			c = '-';
	return name;
}

PlanFile read_plan(const std::string &text, const std::string &name, bool placed)
{
	json whole = parse_json(text, name);
	Item file(whole, name);
	PlanFile plan;
	std::set<u32> taken;

	check_plan(file, placed);
	const json &partitions = list_of_partitions(file);
	plan.device = file.at("device").is_null() ? "" : file.string("device");
	for (u32 i = 0; i < partitions.size(); i++) {
		plan.partitions.push_back(placed ? place_of(file, partitions, i) : PlannedTask{});
		for (u32 tpc : plan.partitions.back().tpcs)
			if (!taken.insert(tpc).second)
				file.refuse(fmt::format("TPC {} is in two partitions", tpc));
		plan.rules.identity += Item(partitions[i], fmt::format("{}: partition {}", name, i)).at("place").dump();
	}
	plan.rules.queues = static_cast<u32>(partitions.size());
	plan.rules.tasks = read_tasks(file, plan.rules.queues);
	plan.rules.order = order_of(file, plan.rules.tasks);
	plan.kernels = file.string("test").starts_with("lp-");
	return plan;
}

} // namespace tool::plan
