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
// Exit status: 0; 1 CUDA failed or a result was wrong; 2 wrong usage.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                                     \
	do {                                                                                                            \
		cudaError_t err = (call);                                                                               \
		if (err != cudaSuccess) {                                                                               \
			fprintf(stderr, "gpulens-schedule-load: %s: %s\n", #call, cudaGetErrorString(err));             \
			exit(1);                                                                                        \
		}                                                                                                       \
	} while (0)

// As lib/schedule/load.hpp has it.
struct Progress {
	volatile unsigned long long rounds; // of the first block; the GPU counts them while it works
	volatile unsigned long long kernels, wrong, pid, ready;
	volatile unsigned long long unused[2], length_ns, go; // of urgent: its kernel's length without the launch; it may begin
};

// Of a kernel of urgent, in us: by CLOCK_MONOTONIC when its job began, when the launch returned, and when its end was noticed;
// by the GPU's clock (%globaltimer), which begins elsewhere, when its first block began and ended.
struct Stamps {
	double from, launched, began, ended, noticed;
};

// What the first block of the last kernel writes: how many rounds there were, and when it began and ended, in ns.
struct Counter {
	unsigned long long rounds, began, ended;
};

static volatile sig_atomic_t stopped;

static void stop(int)
{
	stopped = 1;
}

__device__ unsigned long long read_timer()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

// Each round takes some microseconds. The sum of all threads' results goes to *sum.
__global__ void work(unsigned rounds, volatile Counter *counter, unsigned *sum)
{
	unsigned value = blockIdx.x * blockDim.x + threadIdx.x + 1;
	bool first = !blockIdx.x && !threadIdx.x;

	if (first)
		counter->began = read_timer();
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned j = 0; j < 500; j++)
			value = value * 1664525 + 1013904223;
		if (first) {
			counter->rounds = counter->rounds + 1;
			__threadfence_system();
		}
	}
	if (first)
		counter->ended = read_timer();
	atomicAdd(sum, value);
}

struct Shape {
	int blocks;
	unsigned rounds;
};

// Rounds that take about that many milliseconds.
static Shape calibrate(double ms, volatile Counter *counter)
{
	int sms;
	unsigned *sum;
	cudaEvent_t begin, end;
	float took;
	Shape shape{0, 256};

	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	shape.blocks = sms;
	CHECK(cudaMalloc(&sum, sizeof(*sum)));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	// Again with as many rounds as are wanted: the GPU's clocks rise meanwhile.
	for (int i = 0; i < 8; i++) {
		CHECK(cudaEventRecord(begin));
		work<<<shape.blocks, 1024>>>(shape.rounds, counter, sum);
		CHECK(cudaEventRecord(end));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&took, begin, end));
		shape.rounds = std::max(1U, static_cast<unsigned>(shape.rounds * ms / took));
	}
	return shape;
}

// The mean of ten kernels.
static double measure_ms(Shape shape, volatile Counter *counter, unsigned *sum)
{
	cudaEvent_t begin, end;
	float took;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaEventRecord(begin));
	for (int i = 0; i < 10; i++)
		work<<<shape.blocks, 1024>>>(shape.rounds, counter, sum);
	CHECK(cudaEventRecord(end));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&took, begin, end));
	return took / 10;
}

static int run_victim(Progress *file, double ms)
{
	unsigned *sums, *host, expected = 0;
	volatile Counter *counter;
	cudaEvent_t done[2];
	bool known = false;

	CHECK(cudaHostAlloc((void **)&counter, sizeof(*counter), cudaHostAllocMapped));
	counter->rounds = 0;
	std::thread([=] { // not every file system's pages can be mapped by the GPU
		for (;; std::this_thread::sleep_for(std::chrono::microseconds(20)))
			file->rounds = counter->rounds;
	}).detach();
	Shape shape = calibrate(ms, counter);
	CHECK(cudaMalloc(&sums, 2 * sizeof(*sums)));
	CHECK(cudaMallocHost(&host, 2 * sizeof(*host)));
	for (cudaEvent_t &event : done)
		CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	for (unsigned i = 0; !stopped; i++) {
		unsigned k = i % 2;
		if (i >= 2) {
			CHECK(cudaEventSynchronize(done[k]));
			if (!known)
				expected = host[k];
			known = true;
			file->wrong = file->wrong + (host[k] != expected);
			file->kernels = file->kernels + 1;
		}
		CHECK(cudaMemsetAsync(sums + k, 0, sizeof(*sums)));
		work<<<shape.blocks, 1024>>>(shape.rounds, counter, sums + k);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(host + k, sums + k, sizeof(*sums), cudaMemcpyDeviceToHost));
		CHECK(cudaEventRecord(done[k]));
		file->ready = 1;
	}
	CHECK(cudaDeviceSynchronize());
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
static double now_us()
{
	return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void print_stamps(const std::vector<Stamps> &list)
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

static int run_urgent(Progress *file, double ms, double period, double seconds)
{
	using clock = std::chrono::steady_clock;
	std::vector<Stamps> list;
	unsigned *sum;
	volatile Counter *counter;
	Jobs jobs;

	CHECK(cudaMalloc(&sum, sizeof(*sum)));
	CHECK(cudaHostAlloc((void **)&counter, sizeof(*counter), cudaHostAllocMapped));
	Shape shape = ms > 0 ? calibrate(ms, counter) : Shape{1, 1};
	for (int i = 0; i < 20; i++)
		work<<<shape.blocks, 1024>>>(1, counter, sum);
	CHECK(cudaDeviceSynchronize());
	file->length_ns = static_cast<unsigned long long>(measure_ms(shape, counter, sum) * 1e6);
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
		work<<<shape.blocks, 1024>>>(shape.rounds, counter, sum);
		s.launched = now_us();
		CHECK(cudaDeviceSynchronize());
		jobs.end();
		s.noticed = now_us();
		s.began = counter->began / 1000.0;
		s.ended = counter->ended / 1000.0;
		list.push_back(s);
		file->kernels = list.size();
		next = std::max(next, clock::now() - step); // what a late job delayed is launched once, and not made up for
	}
	print_stamps(list);
	return 0;
}

int main(int argc, char **argv)
{
	bool victim = argc == 4 && !strcmp(argv[1], "victim"), urgent = argc == 6 && !strcmp(argv[1], "urgent");

	if (!victim && !urgent) {
		fprintf(stderr, "usage: gpulens-schedule-load victim FILE MS | urgent FILE MS PERIOD SECONDS\n");
		return 2;
	}
	int fd = open(argv[2], O_RDWR);
	void *at = fd < 0 ? MAP_FAILED : mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED) {
		perror(argv[2]);
		return 2;
	}
	signal(SIGTERM, stop);
	Progress *file = static_cast<Progress *>(at);
	file->pid = getpid();
	return victim ? run_victim(file, atof(argv[3])) : run_urgent(file, atof(argv[3]), atof(argv[4]), atof(argv[5]));
}
