// SPDX-License-Identifier: GPL-2.0
// See places.hpp. The commands for MIG are those of NVIDIA's Multi-Instance GPU User Guide.
#include "gpulens/plan/places.hpp"

#include "gpulens/plan/plan.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tool::plan {

namespace {

std::string device_text(const Plan &plan)
{
	return plan.device.empty() ? "GPU" : plan.device;
}

std::string task_names(const Plan &plan, const Partition &partition)
{
	std::vector<std::string> names;

	for (u32 task : partition.tasks)
		names.push_back(plan.file.tasks[task].name);
	return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> mig_commands(const Plan &plan)
{
	const std::vector<Partition> &partitions = plan.allocation().partitions;
	std::vector<MigInstance> instances = plan.instances;
	std::vector<std::string> tuples, commands;

	// nvidia-smi has refused a 3g after smaller instances, so the largest comes first.
	std::stable_sort(instances.begin(), instances.end(), [](const MigInstance &a, const MigInstance &b) {
		return a.profile->memory_slices > b.profile->memory_slices;
	});
	for (const MigInstance &i : instances)
		tuples.push_back(fmt::format("{}:{}", i.profile->id, i.start));
	commands = {fmt::format("nvidia-smi -i {} -mig 1", device_text(plan)),
		    fmt::format("nvidia-smi mig -i {} -cgi {} -C", device_text(plan), fmt::join(tuples, ",")),
		    fmt::format("nvidia-smi mig -i {} -lgi", device_text(plan)), "nvidia-smi -L"};
	for (size_t i = 0; i < partitions.size(); i++)
		commands.push_back(
			fmt::format("CUDA_VISIBLE_DEVICES=MIG-UUID PROGRAM   # {} at {}:{}, partition {}: {}",
				    plan.instances[i].profile->name, plan.instances[i].start,
				    plan.instances[i].profile->memory_slices, i, task_names(plan, partitions[i])));
	return commands;
}

std::vector<std::string> run_commands(const Plan &plan)
{
	std::vector<std::string> commands;

	for (const Partition &p : plan.allocation().partitions)
		for (u32 task : p.tasks)
			commands.push_back(fmt::format("gpulens run {}--plan PLAN --task {} -- PROGRAM",
						       plan.on == Place::Mps ? "--mps " : "",
						       plan.file.tasks[task].name));
	return commands;
}

} // namespace

const char *place_name(Place place)
{
	switch (place) {
	case Place::Masks: return "masks";
	case Place::Green: return "green";
	case Place::Mig: return "mig";
	case Place::Mps: return "mps";
	}
	return "?";
}

std::string carrier_text(const Plan &plan)
{
	switch (plan.on.value_or(Place::Masks)) {
	case Place::Masks: return "gpulens run --plan, and libgpulens-partition (GPULENS_MASKS)";
	case Place::Green: return "libgpulens-partition (GPULENS_GREEN)";
	case Place::Mig:
		return "these commands, which gpulens does not run. As root, while nothing uses the GPU, which -mig 1 "
		       "may "
		       "reset:";
	case Place::Mps: return "gpulens run --mps --plan";
	}
	return "";
}

std::string holds_text(const Plan &plan)
{
	if (plan.on == Place::Mig)
		return "one program at a time in each MIG instance";
	if (plan.on == Place::Mps)
		return "programs of gpulens run --mps --plan, which run at the same time";
	return fmt::format("tasks of one process{}; not for programs that take turns",
			   plan.on == Place::Green ? "" : ", with --on mps for programs at the same time");
}

std::vector<std::string> commands_of(const Plan &plan)
{
	if (!plan.allocation().fits)
		return {};
	switch (plan.on.value_or(Place::Masks)) {
	case Place::Masks:
	case Place::Mps: return run_commands(plan);
	case Place::Green: return {};
	case Place::Mig: return mig_commands(plan);
	}
	return {};
}

std::vector<std::string> notes_on_place(const Plan &plan)
{
	std::vector<std::string> notes;

	if (!plan.on || !plan.allocation().fits)
		return notes;
	if (*plan.on != Place::Mig && (plan.masks.empty() || plan.map.numbering != TpcNumbering::BySmid))
		notes.emplace_back(
			"this plan cannot be carried out, because its TPCs are not numbered in the order of %smid: "
			"plan with --source rm");
	if (*plan.on == Place::Green && plan.sizes.quantum == 1)
		notes.emplace_back("single TPCs as green contexts were seen on an H200 and an H100; elsewhere gpulens "
				   "partitions --methods prints the granularity, for --quantum and --least");
	if (*plan.on == Place::Mig && !plan.mig->assumed.empty())
		notes.push_back(
			fmt::format("{}; --mig-profiles takes those of this GPU, as nvidia-smi mig -lgip prints them",
				    plan.mig->assumed));
	if (*plan.on == Place::Mig)
		notes.emplace_back(
			"one program at a time uses a MIG instance as its GPU: tasks of one partition take turns "
			"within it (GPULENS_TURNS_ONLY), and times of tasks must be measured in such an instance");
	return notes;
}

} // namespace tool::plan
