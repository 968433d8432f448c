// SPDX-License-Identifier: GPL-2.0
// See planned_task.hpp; docs/plan-schema.json describes the file.
#include "gpulens/plan/planned_task.hpp"

#include "gpulens/plan/task.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/json_input.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

void check_plan(const Item &file)
{
	if (!file.has("command") || file.at("command") != "plan")
		file.refuse("it is not a plan; gpulens plan TASKS --json prints one");
	file.integer("version", 1, 1);
	if (file.at("fits") != true)
		file.refuse("the tasks do not fit, so they have no TPCs");
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

} // namespace

PlannedTask find_planned_task(const std::string &text, const std::string &name, const std::string &task)
{
	json whole = parse_json(text, name);
	Item file(whole, name);
	PlannedTask found;

	check_plan(file);
	const json &partitions = file.at("partitions");
	if (!partitions.is_array())
		file.refuse(fmt::format("partitions is {}, not a list", quote_value(partitions)));
	u32 index = find_partition(file, task, partitions.size());
	Item place = Item(partitions[index], fmt::format("{}: partition {}", name, index)).object("place");
	found.device = file.string("device");
	found.tpcs = place.numbers("tpcs", MAX_TPCS - 1);
	found.gpcs = place.numbers("gpcs", MAX_TPCS - 1);
	if (found.tpcs.empty())
		place.refuse("it has no TPC");
	if (parse_mask(place.string("mask")) != found.tpcs)
		place.refuse("its mask is not that of its tpcs");
	return found;
}

} // namespace tool::plan
