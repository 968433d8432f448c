// SPDX-License-Identifier: GPL-2.0
// The clocks of a machine at one time, as a record in a recording, so that its times can be compared with those of other
// traces: CLOCK_BOOTTIME with traces of the same machine, CLOCK_REALTIME with those of others.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>
#include <string_view>

namespace tool {

// Nanoseconds. Differences change where the machine sleeps (boottime) or its time is set (realtime).
struct Clocks {
	u64 monotonic_ns = 0, boottime_ns = 0, realtime_ns = 0;
};

Clocks read_clocks();
// Returns a sample of kind SAMPLE_RECORD and its record (lib/model/recording.hpp).
std::string clocks_record(const Clocks &clocks);
// Returns nothing for a record of another type.
std::optional<Clocks> parse_clocks(std::string_view record);

} // namespace tool
