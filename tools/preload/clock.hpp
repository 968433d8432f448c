// SPDX-License-Identifier: GPL-2.0
// The clock of what gpulens run preloads, and when its process began: without C++'s library, as it is called in any program.
#pragma once
#include "lib/launch/agent_page.hpp"

#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace preload {

// Returns ns of CLOCK_MONOTONIC.
inline u64 now_ns()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<u64>(t.tv_sec) * 1000000000 + static_cast<u64>(t.tv_nsec);
}

// Returns field 22 of /proc/self/stat, AgentPage::start_time; 0: it cannot be read.
inline u64 read_start_time()
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return gpulens::start_time_of(text);
}

} // namespace preload
