// SPDX-License-Identifier: GPL-2.0
// What the coordinator of a user's programs does (gpulens --source rm schedule), in a file of its folder that it replaces once a
// second: for gpulens top and gpulens export of the same user.
#pragma once
#include "gpulens/out/metrics.hpp"
#include "lib/schedule/coordinator.hpp"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tool {

class ScheduleStatus {
public:
	explicit ScheduleStatus(const std::string &folder);
	ScheduleStatus(const ScheduleStatus &) = delete;
	ScheduleStatus &operator=(const ScheduleStatus &) = delete;
	// Removes the file.
	~ScheduleStatus();

	// Has a thread write the file if it is time, so that no look waits for a file system. One that cannot be written is left
	// out: the policy is carried out without it.
	void update(const schedule::Coordinator &coordinator, schedule::Policy policy, u64 now);

private:
	static constexpr u64 EVERY_NS = 1000000000;

	struct Writer;

	std::shared_ptr<Writer> writer_; // the thread's, too, which may outlive this object
	u64 next_ = 0;
};

// Returns the status of this user's coordinator; nothing: none runs, or it did not write for 5 s.
std::optional<nlohmann::ordered_json> read_schedule_status();
// Returns a line of its policy, and a table of the tasks, and one of the user's programs with budgets; empty: there is neither.
std::string schedule_status_text();
void add_schedule(Metrics &metrics, const nlohmann::ordered_json &status);
// Adds the user's programs of gpulens run --schedule budget=.
void add_budgets(Metrics &metrics);

} // namespace tool
