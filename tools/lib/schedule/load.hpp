// SPDX-License-Identifier: GPL-2.0
// What gpulens-schedule-load (probe/schedule_load.cc) publishes in its file, which who starts it makes.
#pragma once
#include "gpulens/types.h"

#include <atomic>

namespace tool::schedule {

struct alignas(4096) LoadProgress {
	std::atomic<u64> rounds;         // of its kernels' first block, counted while they run
	std::atomic<u64> kernels, wrong; // that have ended; whose result was not that of the first one
	std::atomic<u64> pid, ready;     // ready: 1 when the first one was launched
	std::atomic<u64> unused;
	std::atomic<u64> work; // of a kernel: GPULENS_LOAD_WORK for programs whose kernels are to have the same
	std::atomic<u64> length_ns, go; // of urgent: its kernel's length without the launch; it may begin
};

} // namespace tool::schedule
