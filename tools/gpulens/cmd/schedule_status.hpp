// SPDX-License-Identifier: GPL-2.0
// What the coordinator of a user's programs does (gpulens --source rm schedule), in a file of its folder that it replaces once a
// second: for gpulens top and gpulens export of the same user.
#pragma once
#include "gpulens/out/metrics.hpp"
#include "lib/schedule/coordinator.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tool {

class ScheduleStatus {
public:
	explicit ScheduleStatus(std::string folder) : path_(std::move(folder) + "/schedule-status.json") {}
	ScheduleStatus(const ScheduleStatus &) = delete;
	ScheduleStatus &operator=(const ScheduleStatus &) = delete;
	// Removes the file.
	~ScheduleStatus();

	// Writes the file if it is time. One that cannot be written is left out: the policy is carried out without it.
	void update(const schedule::Coordinator &coordinator, schedule::Policy policy, u64 now);

private:
	static constexpr u64 EVERY_NS = 1000000000;

	std::string path_;
	u64 next_ = 0;
};

// Returns the status of this user's coordinator; nothing: none runs, or it did not write for 5 s.
std::optional<nlohmann::ordered_json> read_schedule_status();
// Returns a line of its policy, and a table of the tasks; empty: there is no status.
std::string schedule_status_text();
void add_schedule(Metrics &metrics, const nlohmann::ordered_json &status);

} // namespace tool
