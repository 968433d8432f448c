// SPDX-License-Identifier: GPL-2.0
// The futex is not private, because other processes wake it, and FUTEX_WAIT_BITSET takes the absolute end of the wait. A
// signal ends a wait early, too.
#include "lib/schedule/live/job_bell.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/launch/busy_wait.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::schedule {

JobBell::JobBell(const std::string &folder)
{
	std::string path = folder + "/schedule-jobs";

	word_ = gpulens::map_file<std::atomic<u32>>(path.c_str(), O_CREAT);
	if (!word_)
		throw Error(Error::Source, fmt::format("{}: {}", path,
						       errno == EINVAL ? "not a count of jobs" : std::strerror(errno)));
}

void JobBell::ring()
{
	++*word_;
	syscall(SYS_futex, word_.get(), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void JobBell::wait(u32 seen, u64 end, bool busy)
{
	while (busy && *word_ == seen && now_ns() < end)
		gpulens::pause_processor();
	timespec until{.tv_sec = static_cast<time_t>(end / 1000000000), .tv_nsec = static_cast<long>(end % 1000000000)};

	syscall(SYS_futex, word_.get(), FUTEX_WAIT_BITSET, seen, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

} // namespace tool::schedule
