// SPDX-License-Identifier: GPL-2.0
// The lines of timelines as CSV, and the words in them. docs/recordings.md describes the columns.
#pragma once
#include "lib/timeline/timeline.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace tool {

constexpr u64 NS_PER_DAY = 86400000000000;

// Text of times of CLOCK_REALTIME, in UTC: "2026-11-24", "2026-11-24 10:23:24.123456".
std::string day_text(u64 unix_ns);
std::string utc_text(u64 unix_ns);

// The names of the columns. partitioned: without day and machine, which are names of folders then.
std::string csv_head(bool partitioned);
// Takes the day (days since 1970, UTC; 0 if the recording has no clocks) and a line with its end.
using LineSink = std::function<void(u64 day, std::string_view line)>;
// An interval over midnight, UTC, is a line for each day.
void write_csv_lines(const Timeline &t, bool partitioned, const LineSink &sink);

// Words that Perfetto's format has, too.
inline const char *phase_name(Phase p)
{
	static const char *const names[] = {"on", "switching", "error"};

	return names[static_cast<int>(p)];
}

inline const char *dropped_name(int kind)
{
	switch (kind) {
	case GPULENS_SAMPLE_FULL: return "no room for samples";
	case GPULENS_SAMPLE_LATE: return "sampling came too late";
	case GPULENS_SAMPLE_ASLEEP: return "the GPU slept";
	default: return "no samples";
	}
}

} // namespace tool
