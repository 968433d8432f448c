// SPDX-License-Identifier: GPL-2.0
// A clock for several processes that passes only while a test lets it (tests/support/fakeclock.py): preloaded (LD_PRELOAD) with
// FAKE_CLOCK=FILE, it answers clock_gettime() but for CLOCK_REALTIME, and carries out sleeps and waits with a limit, of
// futexes, condition variables and poll(), by that file. However slow the machine is, all of them take place at the same time
// as on any other. A thread that reads the clock in a loop, or yields, gets SPIN_NS later with each SPIN_READS readings.
#include "fake_clock.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vector>

using namespace fake_clock;

namespace {

constexpr unsigned SPIN_READS = 1000;
constexpr uint64_t SPIN_NS = 250000;
constexpr timespec LOOK_AT_OWNER = {.tv_sec = 5, .tv_nsec = 0};

template <typename F> F find_next(const char *name)
{
	return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

template <typename... Words> long call_kernel(long number, Words... words)
{
	static auto next = find_next<long (*)(long, ...)>("syscall");

	return next(number, words...);
}

Page *map_page()
{
	const char *path = getenv("FAKE_CLOCK");
	// Not open(), which other preloaded libraries replace.
	int fd = path ? static_cast<int>(call_kernel(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0)) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (path && at == MAP_FAILED) {
		perror("fake_clock: FAKE_CLOCK");
		_exit(126);
	}
	if (fd >= 0)
		call_kernel(SYS_close, fd);
	return path ? static_cast<Page *>(at) : nullptr;
}

// Null: this process has the machine's clock.
Page *find_page()
{
	static Page *mapped = map_page();

	return mapped;
}

// Takes a place of the page. One of a process that was killed is free.
Waiter &take_place(pid_t pid, long tid)
{
	for (Waiter &w : find_page()->waiters) {
		uint32_t owner = w.pid;
		if (owner && (!kill(static_cast<pid_t>(owner), 0) || errno != ESRCH))
			continue;
		if (!w.pid.compare_exchange_strong(owner, static_cast<uint32_t>(pid)))
			continue;
		w.tid = static_cast<uint32_t>(tid);
		w.kind = Kind::None;
		return w;
	}
	fputs("fake_clock: no place\n", stderr);
	abort();
}

// This thread's place, which it gives back at its end.
class Place {
public:
	~Place() { leave(); }
	Waiter &get()
	{
		if (!waiter_)
			waiter_ = &take_place(getpid(), call_kernel(SYS_gettid));
		return *waiter_;
	}
	int event()
	{
		if (event_ < 0)
			event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		return event_;
	}
	void leave()
	{
		if (waiter_)
			waiter_->pid = 0;
		waiter_ = nullptr;
	}
	// In a child, which has a copy.
	void forget() { waiter_ = nullptr; }

private:
	Waiter *waiter_ = nullptr;
	int event_ = -1;
};

thread_local Place place;
std::atomic<bool> has_ticker;

// Ends the waits of this process that the kernel carries out, when their time has come.
void *run_ticker(void *)
{
	Waiter &own = place.get();

	own.kind = Kind::Ticker;
	for (;;) {
		uint32_t seen = own.word;
		for (Waiter &w : find_page()->waiters) {
			if (w.pid != own.pid || w.deadline > find_page()->now)
				continue;
			void *object = reinterpret_cast<void *>(w.object.load()); // NOLINT(performance-no-int-to-ptr)
			if (w.kind == Kind::Futex)
				call_kernel(SYS_futex, object, FUTEX_WAKE | (w.flags & FUTEX_PRIVATE_FLAG), INT_MAX,
					    nullptr, nullptr, 0);
			else if (w.kind == Kind::Condition)
				pthread_cond_broadcast(static_cast<pthread_cond_t *>(object));
			else if (w.kind == Kind::Poll)
				eventfd_write(static_cast<int>(w.object), 1);
		}
		// The time of a test that was killed stands still for ever.
		if (call_kernel(SYS_futex, &own.word, FUTEX_WAIT, seen, &LOOK_AT_OWNER, nullptr, 0) &&
		    errno == ETIMEDOUT && kill(static_cast<pid_t>(find_page()->owner.load()), 0) && errno == ESRCH)
			_exit(126);
	}
	return nullptr;
}

void start_ticker()
{
	static const int FORKS = pthread_atfork(nullptr, nullptr, [] {
		place.forget();
		has_ticker = false;
	});
	pthread_t thread;
	sigset_t all, before;

	if (FORKS || has_ticker.exchange(true))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&thread, nullptr, run_ticker, nullptr))
		abort();
	pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Notes until when this thread waits for what. The ticker has its place before, so that it is not missed.
class Wait {
public:
	Wait(Kind kind, uint64_t deadline, uint64_t object = 0, uint32_t flags = 0) : waiter_(place.get())
	{
		start_ticker();
		waiter_.deadline = deadline;
		waiter_.object = object;
		waiter_.flags = flags;
		waiter_.kind = kind;
	}
	~Wait() { waiter_.kind = Kind::None; }
	Wait(const Wait &) = delete;
	Wait &operator=(const Wait &) = delete;

	bool is_over() const { return find_page()->now >= waiter_.deadline; }
	Waiter &waiter() { return waiter_; }

private:
	Waiter &waiter_;
};

uint64_t to_ns(const timespec &t)
{
	return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

timespec to_timespec(uint64_t ns)
{
	return {.tv_sec = static_cast<time_t>(ns / 1000000000), .tv_nsec = static_cast<long>(ns % 1000000000)};
}

// Returns 0 or EINTR.
int sleep_until(uint64_t deadline, Kind kind)
{
	Wait wait(kind, deadline);

	while (!wait.is_over()) {
		uint32_t seen = wait.waiter().word;
		if (wait.is_over())
			break;
		if (call_kernel(SYS_futex, &wait.waiter().word, FUTEX_WAIT, seen, nullptr, nullptr, 0) &&
		    errno == EINTR && !wait.is_over())
			return EINTR;
	}
	return 0;
}

// As nanosleep().
int sleep_for(uint64_t ns, timespec *left)
{
	uint64_t end = find_page()->now + ns;
	int err = sleep_until(end, Kind::Sleep);

	if (err && left)
		*left = to_timespec(end - std::min(end, find_page()->now.load()));
	errno = err;
	return err ? -1 : 0;
}

bool has_limit(long op, const timespec *limit)
{
	long command = op & FUTEX_CMD_MASK;

	return limit && find_page() && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
}

// A futex' wait with a limit: in ns from now for FUTEX_WAIT, else of CLOCK_MONOTONIC.
long wait_futex(long address, long op, long value, const timespec &limit, long mask)
{
	bool relative = (op & FUTEX_CMD_MASK) == FUTEX_WAIT;
	Wait wait(Kind::Futex, to_ns(limit) + (relative ? find_page()->now.load() : 0), static_cast<uint64_t>(address),
		  static_cast<uint32_t>(op));

	if (wait.is_over()) {
		errno = ETIMEDOUT;
		return -1;
	}
	long status = call_kernel(SYS_futex, address, op, value, nullptr, nullptr, mask);
	if (status || !wait.is_over())
		return status;
	errno = ETIMEDOUT;
	return -1;
}

// A loop that reads the clock, or yields, would never end. n: as how many readings this one counts.
void count_readings(unsigned n)
{
	thread_local uint64_t last;
	thread_local unsigned readings;
	uint64_t now = find_page()->now;

	readings = now == last ? readings + n : 0;
	last = now;
	if (readings < SPIN_READS)
		return;
	readings = 0;
	sleep_until(now + SPIN_NS, Kind::Spin);
}

} // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec *t)
{
	static auto next = find_next<int (*)(clockid_t, timespec *)>("clock_gettime");

	if (!find_page() || clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
	    clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
		return next(clock, t);
	int err = errno;
	count_readings(1);
	errno = err;
	*t = to_timespec(find_page()->now);
	return 0;
}

// The child has a place before its parent can end: without one, the test would not know of it then.
pid_t fork() noexcept
{
	static auto next = find_next<pid_t (*)()>("fork");
	pid_t pid = next();

	if (pid > 0 && find_page())
		take_place(pid, pid);
	return pid;
}

int sched_yield() noexcept
{
	static auto next = find_next<int (*)()>("sched_yield");

	if (find_page())
		count_readings(SPIN_READS / 10);
	return next();
}

int clock_nanosleep(clockid_t clock, int flags, const timespec *t, timespec *left)
{
	static auto next = find_next<int (*)(clockid_t, int, const timespec *, timespec *)>("clock_nanosleep");

	if (!find_page() || (flags & TIMER_ABSTIME && clock == CLOCK_REALTIME))
		return next(clock, flags, t, left);
	if (flags & TIMER_ABSTIME)
		return sleep_until(to_ns(*t), Kind::Sleep);
	return sleep_for(to_ns(*t), left) ? EINTR : 0;
}

int nanosleep(const timespec *t, timespec *left)
{
	static auto next = find_next<int (*)(const timespec *, timespec *)>("nanosleep");

	return find_page() ? sleep_for(to_ns(*t), left) : next(t, left);
}

int usleep(useconds_t us)
{
	timespec t = to_timespec(uint64_t{us} * 1000);

	return nanosleep(&t, nullptr);
}

unsigned sleep(unsigned seconds)
{
	timespec t = to_timespec(uint64_t{seconds} * 1000000000), left{};

	return nanosleep(&t, &left) ? static_cast<unsigned>(left.tv_sec) + 1 : 0;
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const timespec *limit)
{
	static auto next = find_next<int (*)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const timespec *)>(
		"pthread_cond_clockwait");

	if (!find_page() || clock != CLOCK_MONOTONIC)
		return next(condition, mutex, clock, limit);
	Wait wait(Kind::Condition, to_ns(*limit), reinterpret_cast<uintptr_t>(condition));
	if (wait.is_over())
		return ETIMEDOUT;
	pthread_cond_wait(condition, mutex);
	return wait.is_over() ? ETIMEDOUT : 0;
}

int poll(pollfd *fds, nfds_t n, int timeout_ms)
{
	static auto next = find_next<int (*)(pollfd *, nfds_t, int)>("poll");

	if (!find_page() || timeout_ms <= 0)
		return next(fds, n, timeout_ms);
	std::vector<pollfd> all(fds, fds + n);
	all.push_back({.fd = place.event(), .events = POLLIN, .revents = 0});
	Wait wait(Kind::Poll, find_page()->now + static_cast<uint64_t>(timeout_ms) * 1000000,
		  static_cast<uint64_t>(place.event()));
	int ready = next(all.data(), all.size(), -1);
	eventfd_t woken;
	bool over = ready > 0 && all.back().revents && !eventfd_read(place.event(), &woken);
	std::copy_n(all.begin(), n, fds);
	return ready < 0 ? ready : ready - over;
}

long syscall(long number, ...) noexcept
{
	va_list list;
	long words[6];

	va_start(list, number);
	for (long &word : words)
		word = va_arg(list, long);
	va_end(list);
	const timespec *limit = reinterpret_cast<const timespec *>(words[3]); // NOLINT(performance-no-int-to-ptr)
	if (number == SYS_futex && has_limit(words[1], limit))
		return wait_futex(words[0], words[1], words[2], *limit, words[5]);
	return call_kernel(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

} // extern "C"
