// SPDX-License-Identifier: GPL-2.0
// What the test calls (tests/support/fakeclock.py), by ctypes.
#include "fake_clock.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <map>
#include <set>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace fake_clock;

namespace {

void wake(Waiter &w)
{
	w.word++;
	syscall(SYS_futex, &w.word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool lives(uint32_t pid)
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

struct Thread {
	explicit Thread(const std::string &folder)
		: status(folder + "/status"), wchan(folder + "/wchan"), children(folder + "/children")
	{
	}
	ProcFile status, wchan, children;
	unsigned long switches = 0; // voluntary ones, when it was looked at last
	bool looked = false;        // in this round
};

// Threads of the test's children with all that these started, and of processes of the page.
class Threads {
public:
	// Returns whether all of them sleep, are stopped or have ended, and did so since the last call.
	bool look(const Page &clock)
	{
		busy_.clear();
		for (auto &[tid, thread] : threads_)
			thread.looked = false;
		seen_ = {static_cast<uint32_t>(getpid())};
		visit_threads(*seen_.begin(), false);
		for (const Waiter &w : clock.waiters)
			if (w.pid)
				visit(w.pid);
		std::erase_if(threads_, [](const auto &entry) { return !entry.second.looked; });
		return busy_.empty();
	}
	// One that was busy.
	const std::string &busy() const { return busy_; }

private:
	void visit(uint32_t pid)
	{
		if (seen_.insert(pid).second)
			visit_threads(pid, true);
	}

	void visit_threads(uint32_t pid, bool judge)
	{
		std::string folder = "/proc/" + std::to_string(pid) + "/task";
		DIR *tasks = opendir(folder.c_str());

		while (dirent *task = tasks ? readdir(tasks) : nullptr) {
			if (task->d_name[0] == '.')
				continue;
			auto [entry, added] = threads_.try_emplace(static_cast<uint32_t>(atoi(task->d_name)),
								   folder + '/' + task->d_name);
			entry->second.looked = true;
			if (judge)
				look_at(entry->second, added);
			std::string children = entry->second.children.read();
			for (char *at = children.data(), *end; strtoul(at, &end, 10); at = end)
				visit(static_cast<uint32_t>(strtoul(at, nullptr, 10)));
		}
		if (tasks)
			closedir(tasks);
	}

	// A thread that is about to sleep, or takes a child's status in wait(), sleeps by its state only: by wchan, it is on a
	// processor's queue.
	void look_at(Thread &thread, bool added)
	{
		std::string status = thread.status.read();
		size_t state = status.find("\nState:\t"), count = status.find("\nvoluntary_ctxt_switches:\t");

		if (state == status.npos || count == status.npos) {
			thread.looked = false; // it has ended
			return;
		}
		char letter = status[state + 8];
		unsigned long switches = strtoul(status.c_str() + count + 26, nullptr, 10);
		bool sleeps = strchr("ST", letter) && thread.wchan.read() != "0";
		if (added || switches != thread.switches || (!sleeps && !strchr("ZX", letter)))
			busy_ = status.substr(0, state) + status.substr(state, 12);
		thread.switches = switches;
	}

	std::map<uint32_t, Thread> threads_; // by tid
	std::set<uint32_t> seen_;
	std::string busy_;
};

} // namespace

extern "C" {

// Waits until nothing happens any more: all threads sleep, and did so when they were looked at before. Returns the name of
// one that is still busy after `seconds`; null: there is none.
const char *fake_clock_settle(const Page *clock, unsigned seconds)
{
	static Threads threads;

	for (unsigned tries = 0; tries < seconds * 5000; tries++) {
		if (threads.look(*clock))
			return nullptr;
		if (tries > 10)
			usleep(200);
	}
	return threads.busy().c_str();
}

// Lets time pass up to the next end of a wait, or to `limit`. Returns whether a wait ended.
bool fake_clock_step(Page *clock, uint64_t limit)
{
	uint64_t next = UINT64_MAX;

	auto each = [&](auto &&visit) {
		for (Waiter &w : clock->waiters)
			if (w.pid && w.kind != Kind::None && w.kind != Kind::Ticker && lives(w.pid))
				visit(w);
	};
	each([&](const Waiter &w) {
		if (w.deadline > clock->now) // one that is over is of a process that is stopped
			next = std::min(next, w.deadline.load());
	});
	clock->now = std::max(clock->now.load(), std::min(next, limit));
	each([&](Waiter &w) {
		if (w.deadline > clock->now)
			return;
		if (w.kind == Kind::Sleep || w.kind == Kind::Spin)
			return wake(w);
		for (Waiter &ticker : clock->waiters)
			if (ticker.kind == Kind::Ticker && ticker.pid == w.pid)
				wake(ticker);
	});
	return next <= limit;
}

} // extern "C"
