// SPDX-License-Identifier: GPL-2.0
// The clock of samples, leases and turns.
#pragma once
#include "gpulens/types.h"

#include <chrono>

namespace tool {

// Returns ns of CLOCK_MONOTONIC.
inline u64 now_ns()
{
	using std::chrono::steady_clock;

	return static_cast<u64>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

} // namespace tool
