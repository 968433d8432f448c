// SPDX-License-Identifier: GPL-2.0
// A plan that is carried out: jobs take turns in their partitions, and get the partition's stream.
#pragma once
#include "lib/turns/plan_file.hpp"
#include "lib/turns/turn_file.hpp"
#include "partition/work.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gpulens {

class CarriedPlan {
public:
	// file: of the plan. method: how streams are kept on their partitions; nothing: there are no streams. Throws Error:
	// as read_plan() and TurnFile::open(); Input if the plan is of another GPU.
	CarriedPlan(const std::string &file, std::optional<Method> method);
	CarriedPlan(const CarriedPlan &) = delete;
	CarriedPlan &operator=(const CarriedPlan &) = delete;

	// Returns the index of a task, and opens the stream of its partition. Throws Error: Absent; as make_work().
	unsigned open_task(const std::string &name);
	// Waits for the task's turn, and returns the stream; nullptr if there are none. Throws Error: as begin_turn(); Input
	// if the task's stream was not opened.
	void *begin(unsigned task, uint64_t release_ns);
	// Waits for the work in the stream. Then yield() lets a job that comes first run, if the plan allows it, and end()
	// ends the calling thread's job. Throw Error: NotOwner; Failed if the work in the stream failed.
	void yield();
	void end();
	// Throws Error (Input) for an unknown task.
	const tool::turns::Counts &counts(unsigned task) const;

private:
	void *stream_of(unsigned task) const;

	tool::plan::PlanFile plan_;
	std::optional<Method> method_;
	std::unique_ptr<Layout> layout_; // nullptr: no streams
	std::unique_ptr<tool::turns::TurnFile> turns_;
	std::mutex opening_;
	std::vector<std::unique_ptr<Work>> works_;         // by partition
	std::unique_ptr<std::atomic<Work *>[]> opened_ {}; // the same, for threads that begin jobs
};

} // namespace gpulens
