// SPDX-License-Identifier: GPL-2.0
// The first task of a partition opens its stream under a lock, and begin() finds it without one. end() gives the turn back
// before it reports that the work failed, so that other jobs do not wait for a turn that never ends.
#include "partition/plan.hpp"

#include "lib/base/file.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/turns/turns.hpp"
#include "partition/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpulens {

using tool::turns::TaskRules;

namespace {

// Refuses a plan that was made for another GPU.
void check_device(const tool::plan::PlanFile &plan, const Layout &layout)
{
	if (plan.device != layout.device)
		throw Error(Error::Input, fmt::format("it is a plan for GPU {}, and the thread's CUDA context is on {}",
						      plan.device, layout.device));
	for (const tool::plan::PlannedTask &place : plan.partitions) {
		TpcMask mask(layout.map.tpcs);
		for (unsigned tpc : place.tpcs) {
			if (tpc >= layout.map.tpcs)
				throw Error(Error::Input, fmt::format("GPU {} has no TPC {}", plan.device, tpc));
			mask.add(tpc);
		}
		std::vector<u32> gpcs = tool::plan::gpcs_of(layout.map, mask);
		if (!layout.map.gpcs.empty() && gpcs != place.gpcs)
			throw Error(Error::Input,
				    fmt::format("TPCs {} are in GPCs {} of {}, and in GPCs {} by the plan; plan again "
						"for this GPU",
						fmt::join(place.tpcs, ","), fmt::join(gpcs, ","), plan.device,
						fmt::join(place.gpcs, ",")));
	}
}

} // namespace

CarriedPlan::CarriedPlan(const std::string &file, std::optional<Method> method)
	: plan_(tool::plan::read_plan(tool::read_json_file(file), tool::name_of_file(file), method.has_value())),
	  method_(method), works_(plan_.partitions.size()),
	  opened_(std::make_unique<std::atomic<Work *>[]>(plan_.partitions.size()))
{
	if (method) {
		layout_ = std::make_unique<Layout>(layout_of_device(device_of_context()));
		check_device(plan_, *layout_);
	}
	turns_ = tool::turns::TurnFile::open(plan_.turns_name(), plan_.rules);
	for (u32 i = 0; i < plan_.rules.queues; i++)
		tool::turns::settle(*turns_, i);
}

unsigned CarriedPlan::open_task(const std::string &name)
{
	const std::vector<TaskRules> &tasks = plan_.rules.tasks;
	std::vector<std::string> names;

	turns_->check_process();
	for (unsigned i = 0; i < tasks.size(); i++) {
		names.push_back(tasks[i].name);
		if (tasks[i].name != name)
			continue;
		std::lock_guard<std::mutex> hold(opening_);
		std::unique_ptr<Work> &work = works_[tasks[i].queue];
		if (method_ && !work) {
			TpcMask mask(layout_->map.tpcs);
			for (unsigned tpc : plan_.partitions[tasks[i].queue].tpcs)
				mask.add(tpc);
			work = make_work(*method_, *layout_, mask);
			opened_[tasks[i].queue] = work.get();
		}
		return i;
	}
	throw Error(Error::Absent, fmt::format("there is no task \"{}\"; there are {}", name, fmt::join(names, ", ")));
}

void *CarriedPlan::stream_of(unsigned task) const
{
	if (!method_)
		return nullptr;
	const Work *work = opened_[plan_.rules.tasks[task].queue].load(std::memory_order_acquire);
	if (!work)
		throw Error(Error::Input, fmt::format("task {} has no stream; call gpulens_plan_task() first",
						      plan_.rules.tasks[task].name));
	return work->stream();
}

void *CarriedPlan::begin(unsigned task, uint64_t release_ns)
{
	if (task >= plan_.rules.tasks.size())
		throw Error(Error::Input, fmt::format("there is no task {}", task));
	void *stream = stream_of(task);
	tool::turns::begin_turn(*turns_, task, {.release = release_ns});
	return stream;
}

void CarriedPlan::yield()
{
	u64 task = tool::turns::held_task(*turns_);

	if (!plan_.kernels)
		return;
	if (method_)
		check(cuda().wait(stream_of(static_cast<unsigned>(task))), "cuStreamSynchronize");
	tool::turns::yield_turn(*turns_);
}

void CarriedPlan::end()
{
	u64 task = tool::turns::held_task(*turns_);
	int result = method_ ? cuda().wait(stream_of(static_cast<unsigned>(task))) : 0;

	tool::turns::end_turn(*turns_);
	check(result, "cuStreamSynchronize");
}

const tool::turns::Counts &CarriedPlan::counts(unsigned task) const
{
	if (task >= plan_.rules.tasks.size())
		throw Error(Error::Input, fmt::format("there is no task {}", task));
	return turns_->task(task).counts;
}

} // namespace gpulens
