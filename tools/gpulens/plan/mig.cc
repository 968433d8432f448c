// SPDX-License-Identifier: GPL-2.0
// The table of profiles, and the search for instances.
#include "gpulens/plan/mig.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

namespace tool::plan {

namespace {

constexpr u32 GA100 = 0x170, GH100 = 0x180, GB100 = 0x1a0;

// sms: of 1g, 1g with two slices of memory, 2g, 3g, 4g and 7g.
std::vector<MigProfile> profiles_with(const std::array<u32, 6> &sms)
{
	return {{19, "1g", 1, 1, {0, 1, 2, 3, 4, 5, 6}, sms[0]},
		{15, "1g", 1, 2, {0, 2, 4, 6}, sms[1]},
		{14, "2g", 2, 2, {0, 2, 4}, sms[2]},
		{9, "3g", 3, 4, {0, 4}, sms[3]},
		{5, "4g", 4, 4, {0}, sms[4]},
		{0, "7g", 7, 8, {0}, sms[5]}};
}

const std::vector<MigGpu> &mig_gpus()
{
	static const std::vector<MigGpu> gpus{
		{"A100", GA100, 54, "", profiles_with({14, 14, 28, 42, 56, 98})},
		{"H100 PCIe", GH100, 57, "SMs of an instance are from one output of nvidia-smi, and assumed",
		 profiles_with({14, 14, 30, 46, 62, 114})},
		{"H100 SXM5 or H200", GH100, 66,
		 "SMs of an instance are those of an H100 SXM5, and assumed for an H200",
		 profiles_with({16, 26, 32, 60, 64, 132})},
		{"B200", GB100, 74, "SMs of an instance of 3g to 7g are those of a mock of NVIDIA's, and assumed",
		 profiles_with({18, 30, 36, 54, 72, 126})}};
	return gpus;
}

struct Search {
	const MigGpu &gpu;
	u32 memory_slices;
	std::set<std::vector<u32>> seen; // profile ids of the sets found
	std::vector<std::vector<MigInstance>> found;
	std::vector<MigInstance> chosen;

	// Adds the sets that consist of those chosen and of instances from a memory slice on.
	void extend(u32 from, u32 sm_slices)
	{
		std::vector<u32> ids;

		for (const MigInstance &i : chosen)
			ids.push_back(i.profile->id);
		std::sort(ids.begin(), ids.end());
		if (!chosen.empty() && seen.insert(ids).second)
			found.push_back(chosen);
		for (u32 start = from; start < memory_slices; start++)
			for (const MigProfile &p : gpu.profiles) {
				if (sm_slices + p.sm_slices > gpu.sm_slices ||
				    std::find(p.starts.begin(), p.starts.end(), start) == p.starts.end())
					continue;
				chosen.push_back({&p, start});
				extend(start + p.memory_slices, sm_slices + p.sm_slices);
				chosen.pop_back();
			}
	}
};

std::pair<u32, u32> count_slices(const std::vector<MigInstance> &instances)
{
	u32 sms = 0, memory = 0;

	for (const MigInstance &i : instances) {
		sms += i.profile->sm_slices;
		memory += i.profile->memory_slices;
	}
	return {sms, memory};
}

// Returns the tasks of each instance; empty if a task fits none of them.
std::vector<std::vector<u32>> assign_tasks(const Problem &problem, const std::vector<MigInstance> &instances,
					   const std::vector<u32> &tasks)
{
	std::vector<std::vector<u32>> members(instances.size());
	std::vector<size_t> by_size(instances.size());

	for (size_t i = 0; i < by_size.size(); i++)
		by_size[i] = i;
	std::stable_sort(by_size.begin(), by_size.end(),
			 [&](size_t a, size_t b) { return instances[a].tpcs() < instances[b].tpcs(); });
	for (u32 task : tasks) {
		std::optional<size_t> best;
		double best_load = 0;
		for (size_t i : by_size) {
			std::vector<u32> wanted = members[i];
			wanted.insert(std::upper_bound(wanted.begin(), wanted.end(), task), task);
			double load = problem.load(wanted, instances[i].tpcs());
			if ((!best || load > best_load) && problem.fits(wanted, instances[i].tpcs())) {
				best = i;
				best_load = load;
			}
		}
		if (!best)
			return {};
		std::vector<u32> &chosen = members[*best];
		chosen.insert(std::upper_bound(chosen.begin(), chosen.end(), task), task);
	}
	return members;
}

} // namespace

const MigGpu *find_mig_gpu(std::optional<u32> die, u32 tpcs)
{
	for (const MigGpu &gpu : mig_gpus())
		if (gpu.tpcs == tpcs && (!die || *die == gpu.die))
			return &gpu;
	return nullptr;
}

std::string mig_gpu_names()
{
	std::vector<std::string> names;

	for (const MigGpu &gpu : mig_gpus())
		names.push_back(fmt::format("{} ({} TPCs)", gpu.name, gpu.tpcs));
	return fmt::format("{}", fmt::join(names, ", "));
}

u32 largest_instance(const MigGpu &gpu)
{
	u32 sms = 0;

	for (const MigProfile &p : gpu.profiles)
		sms = std::max(sms, p.sms);
	return sms / 2;
}

std::vector<std::vector<MigInstance>> list_mig_layouts(const MigGpu &gpu)
{
	Search search{gpu, 0, {}, {}, {}};

	for (const MigProfile &p : gpu.profiles)
		for (u32 start : p.starts)
			search.memory_slices = std::max(search.memory_slices, start + p.memory_slices);
	search.extend(0, 0);
	std::stable_sort(search.found.begin(), search.found.end(), [](const auto &a, const auto &b) {
		return std::pair(count_slices(a), a.size()) < std::pair(count_slices(b), b.size());
	});
	return search.found;
}

Allocation allocate_on_mig(const Problem &problem, const MigGpu &gpu, std::vector<MigInstance> &instances)
{
	Allocation a;
	std::vector<u32> tasks(problem.tasks().size());
	u32 most = largest_instance(gpu), total = 0; // of all instances of a layout
	const std::vector<std::vector<MigInstance>> layouts = list_mig_layouts(gpu);

	for (const std::vector<MigInstance> &layout : layouts) {
		u32 tpcs = 0;
		for (const MigInstance &i : layout)
			tpcs += i.tpcs();
		total = std::max(total, tpcs);
	}
	a.impossible = problem.impossible();
	a.least_tpcs = problem.least_tpcs();
	a.too_much = a.least_tpcs > total;
	if (a.too_much || !a.impossible.empty())
		return a;
	std::vector<std::pair<u32, double>> wants; // the least TPCs, and the utilization with all
	for (u32 i = 0; i < tasks.size(); i++) {
		tasks[i] = i;
		wants.emplace_back(problem.initial_size(i), problem.load(std::span(&i, 1), most));
	}
	std::stable_sort(tasks.begin(), tasks.end(), [&](u32 x, u32 y) { return wants[x] > wants[y]; });
	for (const std::vector<MigInstance> &layout : layouts) {
		std::vector<std::vector<u32>> members = assign_tasks(problem, layout, tasks);
		if (members.empty())
			continue;
		for (size_t i = 0; i < layout.size(); i++)
			if (!members[i].empty()) {
				a.partitions.push_back({members[i], layout[i].tpcs()});
				instances.push_back(layout[i]);
			}
		a.fits = true;
		break;
	}
	a.gave_up = problem.gave_up();
	return a;
}

} // namespace tool::plan
