// SPDX-License-Identifier: GPL-2.0
// A count of the jobs that programs of a folder have announced (gpulens_schedule_begin(), gpulens_schedule_end()), in a file
// that they and the coordinator map: FOLDER/schedule-jobs. The coordinator sleeps until it changes.
#pragma once
#include "gpulens/types.h"
#include "lib/launch/mapped_file.hpp"

#include <atomic>
#include <string>

namespace tool::schedule {

class JobBell {
public:
	// Makes the file if there is none. Throws Error (Source).
	explicit JobBell(const std::string &folder);

	void ring();
	u32 count() const { return *word_; }
	// Returns when the count is not `seen`, or at `end`: CLOCK_MONOTONIC, ns. busy: without sleeping.
	void wait(u32 seen, u64 end, bool busy = false);

private:
	gpulens::Mapped<std::atomic<u32>> word_;
};

} // namespace tool::schedule
