// SPDX-License-Identifier: GPL-2.0
// Two programs that measure what a scheduler does to them: ordinary CUDA programs that know nothing of it. gpulens schedule
// --probe and tests/gpu/schedule.py run them. Each publishes what it did in FILE, which exists already (lib/schedule/load.hpp).
//	gpulens-schedule-load victim FILE MS    kernels on all SMs of about MS ms each, two queued at a time, until SIGTERM. Each
//	                                        counts its rounds in FILE while it runs, and its result is compared with that of
//	                                        the first one
//	gpulens-schedule-load urgent FILE MS PERIOD SECONDS
//	                                        each PERIOD ms a kernel of about MS ms (0: a few us), and how long it took from
//	                                        launch to end; prints them as JSON, in us. GPULENS_JOBS_LIBRARY names
//	                                        libgpulens-partition.so: each kernel is announced as a job. GPULENS_LOAD_WAIT=1:
//	                                        begins when FILE says so, for programs that are calibrated one by one.
//	                                        GPULENS_LOAD_STAMPS=1: prints five times of each kernel instead, struct Stamps
// GPULENS_LOAD_WORK=N: a kernel has so much work, as FILE says of one of another process, in place of MS.
// Exit status: 0; 1 CUDA failed or a result was wrong; 2 wrong usage.

#include "device/kernels.hpp"
#include "device/runtime.hpp"
#include "lib/launch/mapped_file.hpp"
#include "lib/schedule/load.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using gpulens::Counter;
using tool::schedule::LoadProgress;

constexpr unsigned THREADS = 1024, CALIBRATIONS = 8, MEASURED = 10, WARM_UPS = 20;

// Of a kernel of urgent, in us: by CLOCK_MONOTONIC when its job began, when the launch returned, and when its end was noticed;
// by the GPU's clock (%globaltimer), which begins elsewhere, when its first block began and ended.
struct Stamps {
	double from, launched, began, ended, noticed;
};

volatile sig_atomic_t stopped;

template <typename T> T *allocate_host(size_t count)
{
	void *memory = nullptr;

	CHECK(cudaMallocHost(&memory, count * sizeof(T)));
	memset(memory, 0, count * sizeof(T));
	return static_cast<T *>(memory);
}

// Kernels that compute on all SMs, in the default stream.
class Work {
public:
	Work() : counter(allocate_host<Counter>(1))
	{
		CHECK(gpulens::read_limits(0, &limits_));
		CHECK(cudaMalloc(reinterpret_cast<void **>(&sums), 2 * sizeof(*sums)));
	}

	void launch(unsigned count, unsigned slot) const
	{
		gpulens::Grid grid{{static_cast<unsigned>(limits_.sms), 1}, {THREADS, 1}, 0, nullptr};

		CHECK(gpulens::launch("work", grid, count, counter, sums + slot));
	}

	// The time of so many kernels, in ms.
	double measure_ms(unsigned kernels) const
	{
		cudaEvent_t begin, end;
		float took = 0;

		CHECK(cudaEventCreateWithFlags(&begin, 0));
		CHECK(cudaEventCreateWithFlags(&end, 0));
		CHECK(cudaEventRecord(begin, nullptr));
		for (unsigned i = 0; i < kernels; i++)
			launch(rounds, 0);
		CHECK(cudaEventRecord(end, nullptr));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&took, begin, end));
		return took;
	}

	// Sets rounds to those that take about ms milliseconds: again with as many as are wanted, since the GPU's clocks rise.
	// Returns them.
	unsigned calibrate(double ms)
	{
		if (const char *given = getenv("GPULENS_LOAD_WORK"))
			return rounds = std::max(1U, static_cast<unsigned>(strtoul(given, nullptr, 10)));
		rounds = 256;
		for (unsigned i = 0; i < CALIBRATIONS; i++)
			rounds = std::max(1U, static_cast<unsigned>(rounds * ms / measure_ms(1)));
		return rounds;
	}

	volatile Counter *counter; // of the last kernel
	unsigned rounds = 1;
	uint32_t *sums = nullptr; // two, on the GPU

private:
	gpulens::Limits limits_{};
};

int run_victim(LoadProgress *file, double ms)
{
	Work work;
	auto *results = allocate_host<uint32_t>(2);
	cudaEvent_t done[2];
	uint32_t expected = 0;
	bool known = false;

	for (cudaEvent_t &event : done)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	std::thread([file, counter = work.counter] { // not every file system's pages can be mapped by the GPU
		for (;; std::this_thread::sleep_for(std::chrono::microseconds(20)))
			file->rounds = counter->rounds;
	})
		.detach();
	file->work = work.calibrate(ms);
	for (unsigned i = 0; !stopped; i++) {
		unsigned k = i % 2;
		if (i >= 2) {
			CHECK(cudaEventSynchronize(done[k]));
			if (!known)
				expected = results[k];
			known = true;
			file->wrong += results[k] != expected;
			file->kernels++;
		}
		CHECK(cudaMemsetAsync(work.sums + k, 0, sizeof(uint32_t), nullptr));
		work.launch(work.rounds, k);
		CHECK(cudaMemcpyAsync(results + k, work.sums + k, sizeof(uint32_t), cudaMemcpyDeviceToHost, nullptr));
		CHECK(cudaEventRecord(done[k], nullptr));
		file->ready = 1;
	}
	CHECK(cudaStreamSynchronize(nullptr));
	return file->wrong != 0;
}

// Announces jobs where the user asks for it, and else does nothing.
class Jobs {
public:
	Jobs()
	{
		const char *library = getenv("GPULENS_JOBS_LIBRARY");
		void *loaded = library ? dlopen(library, RTLD_NOW) : nullptr;

		if (!library)
			return;
		begin_ = loaded ? (int (*)(unsigned long long))dlsym(loaded, "gpulens_schedule_begin") : nullptr;
		end_ = loaded ? (int (*)())dlsym(loaded, "gpulens_schedule_end") : nullptr;
		if (!begin_ || !end_) {
			fprintf(stderr, "gpulens-schedule-load: %s: not libgpulens-partition\n", library);
			exit(1);
		}
	}
	void begin() const { check(begin_ ? begin_(0) : 0); }
	void end() const { check(end_ ? end_() : 0); }

private:
	static void check(int err)
	{
		if (err) {
			fprintf(stderr, "gpulens-schedule-load: a job: %s\n", strerror(-err));
			exit(1);
		}
	}

	int (*begin_)(unsigned long long) = nullptr;
	int (*end_)() = nullptr;
};

// CLOCK_MONOTONIC, in us.
double now_us()
{
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print_stamps(const std::vector<Stamps> &list)
{
	bool all = getenv("GPULENS_LOAD_STAMPS");

	printf("[");
	for (size_t i = 0; i < list.size(); i++) {
		const Stamps &s = list[i];
		fputs(i ? ", " : "", stdout);
		if (all)
			printf("[%.1f, %.1f, %.1f, %.1f, %.1f]", s.from, s.launched, s.began, s.ended, s.noticed);
		else
			printf("%.1f", s.noticed - s.from);
	}
	printf("]\n");
}

int run_urgent(LoadProgress *file, double ms, double period, double seconds)
{
	using clock = std::chrono::steady_clock;
	std::vector<Stamps> list;
	Work work;
	Jobs jobs;

	if (ms > 0)
		file->work = work.calibrate(ms);
	for (unsigned i = 0; i < WARM_UPS; i++)
		work.launch(1, 0);
	CHECK(cudaStreamSynchronize(nullptr));
	file->length_ns = static_cast<uint64_t>(work.measure_ms(MEASURED) / MEASURED * 1e6);
	file->ready = 1;
	while (getenv("GPULENS_LOAD_WAIT") && !file->go && !stopped)
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	auto begin = clock::now(), next = begin;
	auto step = std::chrono::duration_cast<clock::duration>(std::chrono::duration<double, std::milli>(period));
	while (!stopped && clock::now() - begin < std::chrono::duration<double>(seconds)) {
		next += step;
		std::this_thread::sleep_until(next);
		Stamps s{};
		s.from = now_us();
		jobs.begin();
		work.launch(work.rounds, 0);
		s.launched = now_us();
		CHECK(cudaStreamSynchronize(nullptr));
		jobs.end();
		s.noticed = now_us();
		s.began = static_cast<double>(work.counter->began) / 1000.0;
		s.ended = static_cast<double>(work.counter->ended) / 1000.0;
		list.push_back(s);
		file->kernels = list.size();
		next = std::max(next,
				clock::now() - step); // what a late job delayed is launched once, and not made up for
	}
	print_stamps(list);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	bool victim = argc == 4 && !strcmp(argv[1], "victim"), urgent = argc == 6 && !strcmp(argv[1], "urgent");

	if (!victim && !urgent) {
		fprintf(stderr, "usage: gpulens-schedule-load victim FILE MS | urgent FILE MS PERIOD SECONDS\n");
		return 2;
	}
	// It may be a link to a file that is open. A thread has it until the program ends.
	LoadProgress *file = gpulens::map_descriptor<LoadProgress>(open(argv[2], O_RDWR | O_CLOEXEC)).release();
	if (!file) {
		perror(argv[2]);
		return 2;
	}
	signal(SIGTERM, [](int) { stopped = 1; });
	file->pid = static_cast<uint64_t>(getpid());
	CHECK(cudaSetDevice(0));
	return victim ? run_victim(file, atof(argv[3])) : run_urgent(file, atof(argv[3]), atof(argv[4]), atof(argv[5]));
}
