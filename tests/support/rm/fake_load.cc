// SPDX-License-Identifier: GPL-2.0
// gpulens-schedule-load without a GPU: gets a TSG with 8 channels from the faked driver as CUDA's library does, and makes as much
// progress as the faked GPU gives it (fake_schedule.hpp). On SIGUSR1 it gets another channel and has its TSG scheduled, as a
// program does that makes a stream. On SIGUSR2 it frees a TSG of a copy engine, on SIGHUP a channel of its own.
//	fake_load victim FILE MS     FILE: struct LoadProgress, lib/schedule/load.hpp; a kernel ends each MS ms of progress
//	fake_load jobs FILE MS PERIOD announces a job of MS ms of progress each PERIOD ms, and has no work between them; word 5:
//	                             how many ended, words 16 and following: their response times in us
//	fake_load urgent FILE MS PERIOD SECONDS
//	                             the same for SECONDS, announced only with GPULENS_JOBS_LIBRARY; prints the response times.
//	                             Word 7: MS in ns; with GPULENS_LOAD_WAIT=1 it begins when word 8 is not 0. With
//	                             GPULENS_LOAD_STAMPS=1 prints five times of each job, as gpulens-schedule-load; the end of
//	                             each tenth one is noticed GPULENS_FAKE_LOAD_LATE us late (0)
//	fake_load launches FILE MS   launches a kernel of libcuda.so.1 each MS ms; word 6: how many launches have returned
//	GPULENS_FAKE_LOAD_WRONG=1    a result is wrong
#include "fake_schedule.hpp"
#include "gpulens-partition.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile sig_atomic_t stopped, asked;

// Kept by the fake: nvos.h of open-gpu-kernel-modules 580.142.
static int node;

static uint32_t alloc_object(uint32_t root, uint32_t parent, uint32_t cls, void *params, uint32_t size)
{
	struct {
		uint32_t root, parent, object, cls;
		uint64_t params;
		uint32_t size, status;
	} a = {root, parent, 0, cls, reinterpret_cast<uintptr_t>(params), size, 0};

	if (ioctl(node, 0xc020462b, &a) || a.status) {
		fprintf(stderr, "fake_load: class %#x: status %#x\n", cls, a.status);
		exit(1);
	}
	return a.object;
}

static uint32_t control_object(uint32_t root, uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	struct {
		uint32_t client, object, cmd, flags;
		uint64_t params;
		uint32_t size, status;
	} c = {root, object, cmd, 0, reinterpret_cast<uintptr_t>(params), size, 0};

	return ioctl(node, 0xc020462a, &c) ? ~0U : c.status;
}

static void free_object(uint32_t root, uint32_t object)
{
	uint32_t f[4] = {root, 0, object, 0};

	ioctl(node, 0xc0104629, f);
}

// The jobs of a program that announces them.
class Jobs {
public:
	Jobs(volatile uint64_t *progress, double length_ms, double period_ms, bool announced)
		: progress_(progress), length_us_(length_ms * 1000), period_us_(period_ms * 1000), announced_(announced)
	{
		fake::shared_gpu()->set_idle(static_cast<uint32_t>(getpid()), true);
	}

	// rounds: us of progress so far.
	void follow(double rounds, std::chrono::steady_clock::time_point now)
	{
		using us = std::chrono::duration<double, std::micro>;

		if (!running_ && now >= next_) {
			began_ = next_ = std::max(next_, now - std::chrono::milliseconds(1));
			next_ += std::chrono::duration_cast<std::chrono::nanoseconds>(us(period_us_));
			end_at_ = rounds + length_us_;
			running_ = true;
			check(announced_ ? gpulens_schedule_begin(0) : 0);
			fake::shared_gpu()->set_idle(static_cast<uint32_t>(getpid()), false);
		} else if (running_ && rounds >= end_at_) {
			fake::shared_gpu()->set_idle(static_cast<uint32_t>(getpid()), true);
			Stamps s{.from = us(began_.time_since_epoch()).count(),
				 .ended = us(now.time_since_epoch()).count()};
			if (const char *late = getenv("GPULENS_FAKE_LOAD_LATE"); late && stamps_.size() % 10 == 9)
				std::this_thread::sleep_for(us(atof(late)));
			now = std::chrono::steady_clock::now();
			s.noticed = us(now.time_since_epoch()).count();
			stamps_.push_back(s);
			check(announced_ ? gpulens_schedule_end() : 0);
			running_ = false;
			if (progress_[5] < 400)
				progress_[16 + progress_[5]] = s.response_us();
			progress_[5] = progress_[5] + 1;
		}
	}

	void print_times() const
	{
		bool all = getenv("GPULENS_LOAD_STAMPS");

		printf("[");
		for (const Stamps &s : stamps_) {
			printf("%s", &s != stamps_.data() ? ", " : "");
			if (all) // the GPU's clock began an hour later
				printf("[%.1f, %.1f, %.1f, %.1f, %.1f]", s.from, s.from, s.from - 3.6e9,
				       s.ended - 3.6e9, s.noticed);
			else
				printf("%llu", static_cast<unsigned long long>(s.response_us()));
		}
		printf("]\n");
	}

private:
	struct Stamps {
		double from, ended, noticed = 0; // us of CLOCK_MONOTONIC

		uint64_t response_us() const { return static_cast<uint64_t>(noticed - from); }
	};

	static void check(int err)
	{
		if (err) {
			fprintf(stderr, "fake_load: %s\n", gpulens_error());
			exit(1);
		}
	}

	volatile uint64_t *progress_;
	double length_us_, period_us_, end_at_ = 0;
	bool announced_, running_ = false;
	std::vector<Stamps> stamps_; // of jobs that ended
	std::chrono::steady_clock::time_point next_{}, began_{};
};

// Kernels of the tests' libcuda.so.1.
class Launches {
public:
	Launches()
	{
		void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
		int (*init)(unsigned) = find<int (*)(unsigned)>(cuda, "cuInit");
		auto alloc = find<int (*)(uint64_t *, size_t)>(cuda, "cuMemAlloc_v2");

		launch_ = find<Launch>(cuda, "cuLaunchKernel");
		init(0);
		alloc(&memory_, 4);
	}

	void launch()
	{
		void *parameters[] = {&memory_};

		launch_(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
	}

private:
	using Launch = int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
			       void **, void **);

	template <typename F> static F find(void *library, const char *name)
	{
		void *at = library ? dlsym(library, name) : nullptr;

		if (!at) {
			fprintf(stderr, "fake_load: %s\n", dlerror());
			exit(1);
		}
		return reinterpret_cast<F>(at);
	}

	Launch launch_ = nullptr;
	uint64_t memory_ = 0;
};

struct Objects {
	uint32_t client = 0, dev = 0, tsg = 0, channel = 0; // the last of its channels
};

uint8_t schedule[3] = {1, 0, 0};

// As CUDA's library makes one, with 8 channels.
Objects make_tsg(int channels)
{
	uint32_t device[14] = {}, group[5] = {0, 0, 0, 1}, subdevice = 0; // engine 1: GR0
	uint64_t slice_us = 2048;                                         // as CUDA's library sets it on an H200

	node = open("/dev/nvidiactl", O_RDWR);
	open("/dev/nvidia0", O_RDWR);
	uint32_t client = alloc_object(0, 0, 0x41, nullptr, 0);
	uint32_t dev = alloc_object(client, client, 0x80, device, sizeof(device));
	alloc_object(client, dev, 0x2080, &subdevice, sizeof(subdevice));
	uint32_t tsg = alloc_object(client, dev, 0xa06c, group, sizeof(group)), channel = 0;
	control_object(client, tsg, 0xa06c0103, &slice_us, sizeof(slice_us));
	for (int i = 0; i < channels; i++)
		channel = alloc_object(client, tsg, 0xc86f, nullptr, 0);
	control_object(client, tsg, 0xa06c0101, schedule, sizeof(schedule));
	alloc_object(client, channel, 0xcbc0, nullptr, 0);
	return {.client = client, .dev = dev, .tsg = tsg, .channel = channel};
}

int main(int argc, char **argv)
{
	bool jobs = argc == 5 && !strcmp(argv[1], "jobs"), launches = argc == 4 && !strcmp(argv[1], "launches");
	bool urgent = argc == 6 && !strcmp(argv[1], "urgent");
	if (!jobs && !urgent && !launches && (argc != 4 || strcmp(argv[1], "victim") != 0))
		return 2;
	int fd = open(argv[2], O_RDWR);
	void *at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || at == MAP_FAILED)
		return 2;
	volatile uint64_t *progress = static_cast<volatile uint64_t *>(at); // rounds, kernels, wrong, pid, ready
	signal(SIGTERM, [](int) { stopped = 1; });
	for (int number : {SIGUSR1, SIGUSR2, SIGHUP})
		signal(number, [](int n) { asked = n; });
	bool forks = getenv("GPULENS_LOAD_FORKS");
	Objects o = make_tsg(forks ? 1 : 8);
	if (forks) { // the child goes on, with a TSG of its own
		if (pid_t child = fork()) {
			waitpid(child, nullptr, 0);
			return 0;
		}
		o = make_tsg(1);
	}
	progress[3] = static_cast<uint64_t>(getpid());
	if (const char *pids = getenv("FAKE_PIDS")) // a folder
		std::ofstream(std::string(pids) + "/" + argv[1]) << getpid();
	progress[2] = getenv("GPULENS_FAKE_LOAD_WRONG") ? 1 : 0;
	progress[7] = static_cast<uint64_t>(atof(argv[3]) * 1e6);
	if (!launches)
		progress[6] = static_cast<uint64_t>(atof(argv[3]) * 1e3);
	progress[4] = 1;

	double rounds = 0;
	std::optional<Jobs> work;
	if (jobs || urgent)
		work.emplace(progress, atof(argv[3]), atof(argv[4]), jobs || getenv("GPULENS_JOBS_LIBRARY"));
	while (getenv("GPULENS_LOAD_WAIT") && !progress[8] && !stopped)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	std::optional<Launches> kernels;
	if (launches)
		kernels.emplace();
	auto begin = std::chrono::steady_clock::now();
	for (auto last = begin; !stopped;) {
		if (urgent && last - begin > std::chrono::duration<double>(atof(argv[5])))
			break;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
		auto now = std::chrono::steady_clock::now();
		rounds += std::chrono::duration<double, std::micro>(now - last).count() *
			  fake::shared_gpu()->share(static_cast<uint32_t>(getpid()));
		last = now;
		progress[0] = static_cast<uint64_t>(rounds);
		progress[1] = static_cast<uint64_t>(rounds / 1000 / std::max(atof(argv[3]), 0.001));
		if (work)
			work->follow(rounds, now);
		if (kernels && progress[1] > progress[6]) {
			kernels->launch();
			progress[6] = progress[6] + 1;
		}
		int number = asked;
		asked = 0;
		if (number == SIGUSR1) {
			alloc_object(o.client, o.tsg, 0xc86f, nullptr, 0);
			control_object(o.client, o.tsg, 0xa06c0101, schedule, sizeof(schedule));
		} else if (number == SIGUSR2) {
			uint32_t copy[5] = {0, 0, 0, 0xb}; // COPY2
			free_object(o.client, alloc_object(o.client, o.dev, 0xa06c, copy, sizeof(copy)));
		} else if (number == SIGHUP) {
			free_object(o.client, o.channel);
		}
	}
	if (urgent)
		work->print_times();
	return progress[2] != 0;
}
