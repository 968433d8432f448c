// SPDX-License-Identifier: GPL-2.0
// See job_bell.hpp.
#include "lib/schedule/live/job_bell.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/launch/busy_wait.hpp"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tool::schedule {

JobBell::JobBell(const std::string &folder)
{
	std::string path = folder + "/schedule-jobs";
	int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat about {};

	if (fd < 0)
		throw Error(Error::Source, fmt::format("{}: {}", path, std::strerror(errno)));
	bool good = !fstat(fd, &about) && S_ISREG(about.st_mode) && !posix_fallocate(fd, 0, sizeof(*word_));
	void *at = good ? mmap(nullptr, sizeof(*word_), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (at == MAP_FAILED)
		throw Error(Error::Source, path + ": not a count of jobs");
	word_ = static_cast<std::atomic<u32> *>(at);
}

JobBell::~JobBell()
{
	munmap(word_, sizeof(*word_));
}

void JobBell::ring()
{
	++*word_;
	syscall(SYS_futex, word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void JobBell::wait(u32 seen, u64 end, bool busy)
{
	while (busy && *word_ == seen && now_ns() < end)
		gpulens::pause_processor();
	timespec until{.tv_sec = static_cast<time_t>(end / 1000000000), .tv_nsec = static_cast<long>(end % 1000000000)};

	syscall(SYS_futex, word_, FUTEX_WAIT_BITSET, seen, &until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

} // namespace tool::schedule
