// SPDX-License-Identifier: GPL-2.0
// What the test calls (tests/support/fakeclock.py), by ctypes.
#include "fake_clock.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <map>
#include <memory>
#include <sched.h>
#include <set>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace fake_clock;

namespace {

void wake_waiter(Waiter &w)
{
	w.word++;
	syscall(SYS_futex, &w.word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool is_alive(uint32_t pid)
{
	return !kill(static_cast<pid_t>(pid), 0) || errno != ESRCH;
}

// A file of /proc that is read again and again.
class ProcFile {
public:
	explicit ProcFile(const std::string &path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
	ProcFile(ProcFile &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	ProcFile &operator=(ProcFile &&) = delete;
	~ProcFile()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	// Empty: the thread has ended.
	std::string read() const
	{
		char text[4096];
		ssize_t n = pread(fd_, text, sizeof(text), 0);

		return {text, static_cast<size_t>(std::max<ssize_t>(n, 0))};
	}

private:
	int fd_;
};

// Whether a thread sleeps, and has slept since it was looked at before.
class Thread {
public:
	explicit Thread(const std::string &folder)
		: schedstat_(folder + "/schedstat"), wchan_(folder + "/wchan"), status_(folder + "/status"),
		  children_(folder + "/children")
	{
	}

	bool sleeps_on()
	{
		// One that is about to sleep, or takes a child's status in wait(), sleeps by its state only: by wchan, it is on
		// a processor's queue ("0").
		bool queued = wchan_.read() == "0";
		unsigned long turns = count_turns(), before = turns_;

		turns_ = 0;
		if (queued || turns != before) {
			std::string status = status_.read();
			size_t state = status.find("\nState:\t");
			// X: its parent cannot wait for the process yet.
			ended_ = state == status.npos;
			if (ended_ || !strchr(queued ? "Z" : "STZ", status[state + 8]))
				return false;
		}
		turns_ = turns;
		return turns == before;
	}

	bool has_ended() const { return ended_; }

	template <typename Visit> void visit_children(Visit &&visit) const
	{
		std::string list = children_.read();
		char *at = list.data();
		unsigned long pid = 0;

		do {
			pid = strtoul(at, &at, 10);
			if (pid)
				visit(static_cast<uint32_t>(pid));
		} while (pid);
	}

private:
	// How often it was given a processor; 1 where the kernel does not say it, or the thread has ended.
	unsigned long count_turns() const
	{
		unsigned long turns = 0;

		return sscanf(schedstat_.read().c_str(), "%*u %*u %lu", &turns) == 1 ? turns : 1;
	}

	ProcFile schedstat_, wchan_, status_, children_;
	unsigned long turns_ = 0; // when it slept
	bool ended_ = false;
};

// The threads of a process, and the processes that they started.
class Process {
public:
	std::map<uint32_t, Thread> threads; // by tid, which a later thread may have again
	std::vector<uint32_t> children;

	explicit Process(uint32_t pid)
		: folder_("/proc/" + std::to_string(pid) + "/task"), tasks_(opendir(folder_.c_str()), closedir)
	{
	}

	void find_all()
	{
		std::set<uint32_t> there;

		children.clear();
		std::erase_if(threads, [](const auto &entry) { return entry.second.has_ended(); });
		if (tasks_)
			rewinddir(tasks_.get());
		while (dirent *task = tasks_ ? readdir(tasks_.get()) : nullptr) {
			if (task->d_name[0] == '.')
				continue;
			uint32_t tid = static_cast<uint32_t>(atoi(task->d_name));
			there.insert(tid);
			threads.try_emplace(tid, folder_ + '/' + task->d_name)
				.first->second.visit_children([&](uint32_t child) { children.push_back(child); });
		}
		std::erase_if(threads, [&](const auto &entry) { return !there.contains(entry.first); });
	}

private:
	std::string folder_;
	std::unique_ptr<DIR, int (*)(DIR *)> tasks_;
};

// The processes of the page, and what the test and these started.
class Processes {
public:
	// Returns whether all of them sleep, are stopped or have ended, and have since the last call.
	bool look(Page &clock)
	{
		seen_.clear();
		busy_ = 0;
		self_.find_all();
		for (uint32_t child : self_.children)
			visit(child);
		for (Waiter &w : clock.waiters)
			if (uint32_t pid = w.pid; pid && pid != static_cast<uint32_t>(getpid()) && !visit(pid))
				w.pid.compare_exchange_strong(pid, 0); // it was killed
		std::erase_if(processes_, [this](const auto &entry) { return !busy_ && !seen_.contains(entry.first); });
		return !busy_;
	}
	// A process that was busy.
	uint32_t busy() const { return busy_; }

private:
	// Returns false if it has ended.
	bool visit(uint32_t pid)
	{
		if (busy_ || !seen_.insert(pid).second)
			return true;
		Process &p = processes_.try_emplace(pid, pid).first->second;
		bool sleeps = !p.threads.empty();
		for (auto &[tid, thread] : p.threads)
			sleeps = thread.sleeps_on() && sleeps;
		if (!sleeps) { // it may have started others
			p.find_all();
			if (p.threads.empty()) { // it has ended
				processes_.erase(pid);
				return false;
			}
			busy_ = pid;
		}
		for (uint32_t child : p.children)
			visit(child);
		return true;
	}

	Process self_{static_cast<uint32_t>(getpid())};
	std::map<uint32_t, Process> processes_; // by pid
	std::set<uint32_t> seen_;
	uint32_t busy_ = 0;
};

} // namespace

extern "C" {

// Waits until nothing happens any more: all threads sleep, and did so when they were looked at before. Returns a process that is
// still busy after `seconds`; 0: there is none.
uint32_t fake_clock_settle(Page *clock, unsigned seconds)
{
	static Processes processes;

	for (unsigned tries = 0; tries < seconds * 5000; tries++) {
		if (processes.look(*clock))
			return 0;
		if (tries > 10)
			usleep(200);
		else
			sched_yield();
	}
	return processes.busy();
}

// Lets time pass up to the next end of a wait, or to `limit`, but not where nothing waits for a time: then the kernel is awaited,
// unless all is idle. Returns whether a wait ended.
bool fake_clock_step(Page *clock, uint64_t limit, bool idle)
{
	uint64_t next = UINT64_MAX;

	auto each = [&](auto &&visit) {
		for (Waiter &w : clock->waiters)
			if (w.pid && w.kind != Kind::None && w.kind != Kind::Ticker && is_alive(w.pid))
				visit(w);
	};
	each([&](const Waiter &w) {
		if (w.deadline > clock->now) // one that is over is of a process that is stopped
			next = std::min(next, w.deadline.load());
	});
	if (next == UINT64_MAX && !idle)
		return false;
	clock->now = std::max(clock->now.load(), std::min(next, limit));
	each([&](Waiter &w) {
		if (w.deadline > clock->now)
			return;
		if (w.kind == Kind::Sleep || w.kind == Kind::Spin)
			return wake_waiter(w);
		for (Waiter &ticker : clock->waiters)
			if (ticker.kind == Kind::Ticker && ticker.pid == w.pid)
				wake_waiter(ticker);
	});
	return next <= limit;
}

} // extern "C"
