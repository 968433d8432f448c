// SPDX-License-Identifier: GPL-2.0
// gpulens schedule --probe: measures with two programs of its own which controls of NVIDIA's driver have an effect on a running
// program's TSGs. A control counts as working by the programs' progress and by counted context switches, never by its status.
#pragma once
#include "gpulens/out/output.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool::measure {

struct ScheduleProbeOptions {
	std::string program; // gpulens-schedule-load; empty: the installed one
	std::string file;    // for the results; empty: support_path()
};

// Measures one GPU and stores the result, which it returns: docs/schedule-probe-schema.json. gpus: its number; empty: there is
// one. Throws Error.
nlohmann::ordered_json measure_schedule(const std::vector<unsigned> &gpus, const ScheduleProbeOptions &probe);

// Prints it. Returns the exit status: EXIT_DONE, or EXIT_PART if a result of the programs was wrong. Throws Error.
int probe_schedule(const Options &options, const ScheduleProbeOptions &probe);

} // namespace tool::measure
