// SPDX-License-Identifier: GPL-2.0
// Writes what a coordinator does for gpulens record, and reads it there.
#pragma once
#include "lib/schedule/coordinator.hpp"
#include "lib/schedule/live/step_log.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tool {

// Compares the coordinator with how it was at the last call, and logs each difference.
class ScheduleSteps {
public:
	// path: of the log. devices: of the driver, a bit for each; 0: unknown.
	ScheduleSteps(const std::string &path, schedule::Policy policy, u64 devices, u64 now);

	// Call it after each look.
	void note(const schedule::Coordinator &coordinator);

private:
	struct State {
		bool ready = false, held = false;
		u64 jobs = 0, missed = 0, refused = 0, exhaustions = 0;
	};

	schedule::StepLog log_;
	std::vector<State> states_;
	std::vector<int> chosen_; // by group
	u64 lost_leases_ = 0;
};

// Paths of the logs: of the user's programs, and of a GPU with the module.
std::string programs_step_path(const std::string &folder);
std::string gpu_step_path(const std::string &state, unsigned gpu);

// The logs of all coordinators that concern recorded GPUs.
class RecordedSteps {
public:
	// gpus: their numbers. module: whether the module is their source.
	RecordedSteps(const std::vector<unsigned> &gpus, bool module);

	struct Steps {
		u32 place; // in gpus
		std::vector<ScheduleRecord> records;
	};
	std::vector<Steps> read();

private:
	std::vector<unsigned> gpus_;
	std::vector<std::pair<u32, std::unique_ptr<schedule::StepReader>>> of_gpus_;
	std::unique_ptr<schedule::StepReader> of_programs_; // null: there is no folder of this user yet
};

} // namespace tool
