// SPDX-License-Identifier: GPL-2.0
// The clock of what gpulens run preloads: without C++'s library, as it is called in any program.
#pragma once
#include "gpulens/types.h"

#include <ctime>

namespace preload {

// Returns ns of CLOCK_MONOTONIC.
inline u64 now_ns()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<u64>(t.tv_sec) * 1000000000 + static_cast<u64>(t.tv_nsec);
}

} // namespace preload
