// SPDX-License-Identifier: GPL-2.0
// gpulens schedule --source rm: carries out a policy on programs that gpulens run --schedule task=NAME has started, through
// NVIDIA's driver.
#pragma once
#include "gpulens/cmd/schedule.hpp"

namespace tool {

// Returns the exit status. Throws Error.
int schedule_programs(const Options &options, const ScheduleOptions &schedule);

} // namespace tool
