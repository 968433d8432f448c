// SPDX-License-Identifier: GPL-2.0
// See hold_file.hpp.
#include "lib/schedule/live/hold_file.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool::schedule {

namespace {

constexpr int LOOK_MS = 10;        // between two looks of the watchdog
constexpr int LAST_ATTEMPTS = 500; // of the watchdog, after the coordinator's end, where enabling is refused

[[noreturn]] void refuse_file(const std::string &path, const char *what)
{
	throw Error(Error::Source, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

// The watchdog's program. coordinator: a pidfd.
[[noreturn]] void watch_holds(HoldTable &table, HoldPort &port, int coordinator)
{
	HoldWatch watch(table, port);
	pollfd p{.fd = coordinator, .events = POLLIN, .revents = 0};

	while (poll(&p, 1, LOOK_MS) <= 0 || !p.revents)
		watch.enforce(true);
	for (int i = 0; i < LAST_ATTEMPTS && watch.enforce(false); i++)
		usleep(LOOK_MS * 1000);
	_exit(0);
}

} // namespace

HoldFile::HoldFile(const std::string &folder, unsigned gpu)
{
	std::string path = fmt::format("{}/schedule-gpu{}", folder, gpu);
	std::error_code err;

	std::filesystem::create_directories(folder, err);
	fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd_ < 0)
		refuse_file(path, "cannot be opened");
	bool taken = flock(fd_, LOCK_EX | LOCK_NB) != 0;
	struct stat st {};
	if (fstat(fd_, &st) || !S_ISREG(st.st_mode) ||
	    (!taken && st.st_size == 0 && ftruncate(fd_, sizeof(HoldTable)))) {
		close(fd_);
		refuse_file(path, "cannot be used");
	}
	void *at = st.st_size == 0 || st.st_size == sizeof(HoldTable)
			   ? mmap(nullptr, sizeof(HoldTable), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0)
			   : MAP_FAILED;
	if (at == MAP_FAILED) {
		close(fd_);
		throw Error(Error::Source, path + ": not a table of holds");
	}
	table_ = static_cast<HoldTable *>(at);
	if (taken) {
		u32 pid = table_->pid.load();
		munmap(at, sizeof(HoldTable));
		close(fd_);
		throw Error(Error::Taken,
			    fmt::format("GPU {} has a coordinator already: process {} ({})", gpu, pid, path));
	}
	// What an earlier coordinator left in it has ended with that process.
	table_->magic = HoldTable::MAGIC;
	table_->entries.store(0);
	table_->lease_end.store(0);
	table_->pid.store(static_cast<u32>(getpid()));
}

HoldFile::~HoldFile()
{
	munmap(table_, sizeof(HoldTable));
	close(fd_);
}

Watchdog::Watchdog(HoldTable &table, GpuPort &gpu, bool per_runlist)
{
	int coordinator = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));

	if (coordinator < 0)
		throw Error(Error::NoProcess, fmt::format("no watchdog can be started: {}", std::strerror(errno)));
	child_ = fork();
	if (child_ == 0) {
		setsid(); // Ctrl-C and the end of a terminal are not for it
		for (int n : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
			signal(n, SIG_IGN);
		int null = open("/dev/null", O_RDWR);
		for (int fd : {0, 1, 2})
			dup2(null, fd);
		prctl(PR_SET_NAME, "gpulens-holds");
		gpu.leave_holds();
		ChannelPort port(gpu, per_runlist);
		watch_holds(table, port, coordinator);
	}
	int err = errno;
	close(coordinator);
	if (child_ < 0)
		throw Error(Error::NoProcess, fmt::format("no watchdog can be started: {}", std::strerror(err)));
}

bool Watchdog::alive()
{
	if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) != 0)
		child_ = -1;
	return child_ > 0;
}

void Watchdog::dismiss()
{
	if (child_ <= 0)
		return;
	kill(child_, SIGKILL);
	waitpid(child_, nullptr, 0);
	child_ = -1;
}

} // namespace tool::schedule
