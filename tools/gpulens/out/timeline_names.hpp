// SPDX-License-Identifier: GPL-2.0
// Names of what timelines have, as CSV and Perfetto's format write them.
#pragma once
#include "lib/timeline/timeline.hpp"

namespace tool {

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
