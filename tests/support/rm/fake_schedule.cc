// SPDX-License-Identifier: GPL-2.0
// The file is opened by a system call, because open() is the fake's own here and takes its lock. A TSG whose process has
// ended is free again, and compare-and-swap decides between processes that want it.
#include "fake_schedule.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fake {

double SharedGpu::share(uint32_t pid) const
{
	double mine = 0, all = 0;

	for (const SharedTsg &t : tsgs) {
		if (!t.pid || t.disabled || t.idle || (t.pid != pid && kill(static_cast<pid_t>(t.pid.load()), 0)))
			continue;
		all += t.slice_us;
		if (t.pid == pid)
			mine += t.slice_us;
	}
	return all > 0 ? mine / all : 0;
}

void SharedGpu::set_idle(uint32_t pid, bool idle)
{
	for (SharedTsg &t : tsgs)
		if (t.pid == pid)
			t.idle = idle;
}

Behaviour behaviour_of(const std::string &verb)
{
	const char *list = getenv("GPULENS_FAKE_RM_VERBS");
	std::string all = list ? ',' + std::string(list) + ',' : "", key = ',' + verb + '=';
	size_t at = all.find(key);

	if (at == all.npos)
		return verb == "unlist" ? Behaviour::Inert : Behaviour::Works;
	std::string value = all.substr(at + key.size());
	return value.rfind("inert", 0) == 0    ? Behaviour::Inert
	       : value.rfind("commit", 0) == 0 ? Behaviour::Commit
	       : value.rfind("works", 0) == 0  ? Behaviour::Works
					       : Behaviour::Refused;
}

SharedGpu *shared_gpu()
{
	static SharedGpu *gpu = [] {
		const char *path = getenv("GPULENS_FAKE_RM_SHARED");
		// Not open(), which the fake has replaced and locks.
		int fd =
			path ? static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666))
			     : -1;
		void *at = fd < 0 || ftruncate(fd, sizeof(SharedGpu))
				   ? MAP_FAILED
				   : mmap(nullptr, sizeof(SharedGpu), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		return at == MAP_FAILED ? nullptr : static_cast<SharedGpu *>(at);
	}();

	return gpu;
}

SharedTsg *shared_tsg(uint32_t handle)
{
	SharedGpu *gpu = shared_gpu();
	uint32_t pid = static_cast<uint32_t>(getpid());

	if (!gpu)
		return nullptr;
	for (SharedTsg &t : gpu->tsgs)
		if (t.pid == pid && t.handle == handle)
			return &t;
	for (SharedTsg &t : gpu->tsgs) {
		uint32_t owner = t.pid;
		bool free = !owner || (owner != pid && kill(static_cast<pid_t>(owner), 0) && errno == ESRCH);
		if (!free || !t.pid.compare_exchange_strong(owner, pid))
			continue;
		t.handle = handle;
		t.slice_us = 1024; // DEFAULT_CHANNEL_TIMESLICE: data/h200-rm-facts.json
		t.disabled = t.later_slice_us = t.later_disabled = t.saves = t.idle = 0;
		return &t;
	}
	return nullptr;
}

void commit_all()
{
	SharedGpu *gpu = shared_gpu();

	for (SharedTsg &t : gpu->tsgs) {
		if (uint32_t us = t.later_slice_us.exchange(0))
			t.slice_us = us;
		if (uint32_t disabled = t.later_disabled.exchange(0))
			t.disabled = disabled - 1;
	}
}

} // namespace fake
