// SPDX-License-Identifier: GPL-2.0
// What partitions of one process do to times. gpulens-lab tenants runs this program. Each line of output is a JSON object; times
// are the GPU's (events), in milliseconds, unless the key says otherwise.
//	gpulens-tenants cases WAY       Table III of RTAS'23: a task alone, beside another like it, beside one that launches
//	                                without end, the last two in disjoint halves, and alone in its half
//	gpulens-tenants sizes WAY       Fig. 13 of RTAS'23: time by the number of TPCs, packed and distributed
//	gpulens-tenants launches        cost of a launch: as CUDA has it, in a green context, with the callback, with masks
//	gpulens-tenants neighbours WAY  jobs that need arithmetic, memory or L2 cache, beside each other and beside copy
//	                                engines: in two streams, and in the two halves of the GPU
// WAY is enum gpulens_way: 0 masks, 1 green contexts. Exit status: 0; 1 CUDA failed; 2 wrong usage; 3 the method does not work
// on this GPU.
#include "device/kernels.hpp"
#include "device/runtime.hpp"
#include "partition/gpulens-partition.h"
#include "partition/libsmctrl.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

static const unsigned N = 2048, JOBS = 300, UINT4_BYTES = 16;

struct Task {
	float *a = nullptr, *b = nullptr, *c = nullptr;
	cudaStream_t stream;

	explicit Task(cudaStream_t in) : stream(in)
	{
		for (float **matrix : {&a, &b, &c}) {
			CHECK(cudaMalloc(reinterpret_cast<void **>(matrix), N * N * sizeof(float)));
			CHECK(cudaMemset(*matrix, 0, N * N * sizeof(float)));
		}
	}
	void launch() const
	{
		const unsigned tile = gpulens::TILE;

		CHECK(gpulens::launch("multiply", {{N / tile, N / tile}, {tile, tile}, 0, stream}, a, b, c, N));
	}
};

static void check_lens(int err)
{
	if (err) {
		fprintf(stderr, "%s\n", gpulens_error());
		exit(3);
	}
}

static gpulens_layout *layout;

// Makes a stream on those TPCs, which is never closed.
static cudaStream_t make_stream_on(unsigned way, const char *tpcs)
{
	uint64_t mask[2];
	gpulens_partition *partition;

	check_lens(gpulens_mask_parse(layout, tpcs, mask));
	check_lens(gpulens_partition_open(layout, way, mask, &partition));
	return static_cast<cudaStream_t>(gpulens_partition_stream(partition));
}

static cudaStream_t make_stream()
{
	cudaStream_t made;

	CHECK(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, 0));
	return made;
}

static std::vector<float> measure_times(const Task &task, unsigned jobs)
{
	std::vector<float> times(jobs);
	cudaEvent_t begin, end;

	CHECK(cudaEventCreateWithFlags(&begin, 0));
	CHECK(cudaEventCreateWithFlags(&end, 0));
	for (float &ms : times) {
		CHECK(cudaEventRecord(begin, task.stream));
		task.launch();
		CHECK(cudaEventRecord(end, task.stream));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
	}
	return times;
}

static void print_times(const char *name, const std::vector<float> &times)
{
	double sum = 0, squares = 0;

	for (float ms : times)
		sum += ms;
	for (float ms : times)
		squares += (ms - sum / times.size()) * (ms - sum / times.size());
	printf("{\"case\": \"%s\", \"jobs\": %zu, \"mean\": %.3f, \"min\": %.3f, \"max\": %.3f, \"deviation\": %.3f}\n",
	       name, times.size(), sum / times.size(), *std::min_element(times.begin(), times.end()),
	       *std::max_element(times.begin(), times.end()), std::sqrt(squares / times.size()));
	fflush(stdout);
}

// Measures the task while each of the others keeps that many jobs waiting.
static void measure_beside(const char *name, const Task &task, const std::vector<Task> &others, unsigned waiting)
{
	std::atomic<bool> stop{false};
	std::thread competitor([&] {
		CHECK(cudaSetDevice(0)); // of this thread
		for (unsigned i = 0; !stop && !others.empty(); i++) {
			const Task &other = others[i % others.size()];
			CHECK(cudaStreamSynchronize(other.stream));
			for (unsigned j = 0; j < waiting; j++)
				other.launch();
		}
		CHECK(cudaDeviceSynchronize());
	});

	measure_times(task, 20);
	print_times(name, measure_times(task, JOBS));
	stop = true;
	competitor.join();
}

static std::vector<Task> make_tasks(unsigned count, const std::function<cudaStream_t()> &in)
{
	std::vector<Task> all;

	for (unsigned i = 0; i < count; i++)
		all.emplace_back(in());
	return all;
}

static int measure_cases(unsigned way)
{
	// Six streams and the task's: CUDA_DEVICE_MAX_CONNECTIONS is 8 where nobody sets it, and each has its own channel.
	const unsigned many = 6;
	Task task(make_stream());
	std::vector<Task> others = make_tasks(many, make_stream);

	measure_beside("1 alone", task, {}, 0);
	measure_beside("2 beside another", task, {others[0]}, 1);
	measure_beside("3 beside a malfunction", task, others, 4);
	Task half(make_stream_on(way, "half:a"));
	std::vector<Task> halves = make_tasks(many, [way] { return make_stream_on(way, "half:b"); });
	measure_beside("4 beside a malfunction, in halves", half, halves, 4);
	measure_beside("5 alone in its half", half, {}, 0);
	return 0;
}

static int measure_sizes(unsigned way)
{
	unsigned tpcs = gpulens_layout_tpcs(layout);

	for (unsigned placing : {GPULENS_PACKED, GPULENS_DISTRIBUTED})
		for (unsigned size = 1; size <= tpcs; size++) {
			uint64_t mask[2];
			gpulens_partition *partition;
			check_lens(gpulens_masks_make(layout, &size, 1, placing, nullptr, mask));
			check_lens(gpulens_partition_open(layout, way, mask, &partition));
			static Task task(nullptr);
			task.stream = static_cast<cudaStream_t>(gpulens_partition_stream(partition));
			measure_times(task, 2);
			std::vector<float> times = measure_times(task, 7);
			std::sort(times.begin(), times.end());
			printf("{\"how\": \"%s\", \"tpcs\": %u, \"median\": %.3f, \"max\": %.3f}\n",
			       placing == GPULENS_PACKED ? "packed" : "distributed", size, times[3], times[6]);
			CHECK(cudaStreamSynchronize(task.stream));
			gpulens_partition_close(partition);
		}
	return 0;
}

// Prints the nanoseconds that a launch takes in this thread, the least of several rounds.
static void measure_launch(
	const char *name, cudaStream_t in, const std::function<void()> &before = [] {})
{
	const int launches = 2000, rounds = 15;
	double least = 1e18;

	for (int i = 0; i < rounds; i++) {
		CHECK(cudaStreamSynchronize(in));
		auto begin = std::chrono::steady_clock::now();
		for (int j = 0; j < launches; j++) {
			before();
			CHECK(gpulens::launch("nothing", {{1, 1}, {32, 1}, 0, in}));
		}
		auto end = std::chrono::steady_clock::now();
		least = std::min(least, std::chrono::duration<double, std::nano>(end - begin).count() / launches);
	}
	CHECK(cudaStreamSynchronize(in));
	printf("{\"launch\": \"%s\", \"ns\": %.0f}\n", name, least);
}

static int measure_launches()
{
	cudaStream_t plain = make_stream();

	measure_launch("as CUDA has it", plain);
	measure_launch("in a green context", make_stream_on(GPULENS_GREEN, "half:a"));
	measure_launch("as CUDA has it, again", plain);
	cudaStream_t masked = make_stream_on(GPULENS_MASKS, "half:a");
	measure_launch("with the callback and no mask", plain);
	measure_launch("in a stream with a mask", masked);
	libsmctrl_set_global_mask_ext(2);
	measure_launch("with the global mask", plain);
	measure_launch("with a next mask each", plain, [] { libsmctrl_set_next_mask_ext(2); });
	return 0;
}

/* -- neighbours -- */

// Something to do repeatedly in a stream. Two jobs share no memory.
struct Job {
	const char *name;
	std::function<void(cudaStream_t)> work;
};

static const unsigned REPEATS = 30;

// repeat copies by a kernel.
static Job copy_job(const char *name, size_t bytes, unsigned repeat)
{
	void *from, *to;

	CHECK(cudaMalloc(&from, bytes));
	CHECK(cudaMalloc(&to, bytes));
	CHECK(cudaMemset(from, 0, bytes));
	return {name, [=](cudaStream_t in) {
			for (unsigned i = 0; i < repeat; i++)
				CHECK(gpulens::launch("copy", {{2048, 1}, {256, 1}, 0, in}, from, to,
						      uint64_t{bytes / UINT4_BYTES}));
		}};
}

// A copy in each direction by copy engines.
static Job transfer_job()
{
	const size_t bytes = 64 << 20;
	void *host, *memory;

	CHECK(cudaMallocHost(&host, bytes));
	CHECK(cudaMalloc(&memory, bytes));
	return {"transfers of 64 MiB", [=](cudaStream_t in) {
			CHECK(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, in));
			CHECK(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, in));
		}};
}

static std::vector<Job> make_jobs()
{
	Task product(nullptr);

	return {{"product", [=](cudaStream_t in) mutable { (product.stream = in, product.launch()); }},
		copy_job("copy of 1 GiB", 1 << 30, 1),
		copy_job("20 copies of 8 MiB", 8 << 20, 20),
		transfer_job()};
}

static float median_of(const Job &job, cudaStream_t in)
{
	std::vector<float> times(REPEATS);
	cudaEvent_t begin, end;

	CHECK(cudaEventCreateWithFlags(&begin, 0));
	CHECK(cudaEventCreateWithFlags(&end, 0));
	for (float &ms : times) {
		CHECK(cudaEventRecord(begin, in));
		job.work(in);
		CHECK(cudaEventRecord(end, in));
		CHECK(cudaEventSynchronize(end));
		CHECK(cudaEventElapsedTime(&ms, begin, end));
	}
	std::sort(times.begin(), times.end());
	return times[REPEATS / 2];
}

// Repeats a job from another thread, and always has one repetition that waits. A queue of many would delay the end.
class Repeated {
public:
	Repeated(const Job &job, cudaStream_t in) : thread_([this, &job, in] { run(job, in); })
	{
		while (count_ < 2)
			std::this_thread::yield();
	}
	~Repeated()
	{
		stop_ = true;
		thread_.join();
	}

private:
	void run(const Job &job, cudaStream_t in)
	{
		cudaEvent_t done[2];

		CHECK(cudaSetDevice(0)); // of this thread
		for (cudaEvent_t &event : done)
			CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
		for (; !stop_; count_++) {
			CHECK(cudaEventSynchronize(done[count_ % 2]));
			job.work(in);
			CHECK(cudaEventRecord(done[count_ % 2], in));
		}
		CHECK(cudaStreamSynchronize(in));
		for (cudaEvent_t event : done)
			CHECK(cudaEventDestroy(event));
	}

	std::atomic<unsigned> count_{0};
	std::atomic<bool> stop_{false};
	std::thread thread_;
};

static void print_beside(const char *key, const Job &job, cudaStream_t in, const Job *neighbour, cudaStream_t its)
{
	std::unique_ptr<Repeated> repeated;

	if (neighbour)
		repeated = std::make_unique<Repeated>(*neighbour, its);
	printf(", \"%s\": %.3f", key, median_of(job, in));
}

static int measure_neighbours(unsigned way)
{
	cudaStream_t half = make_stream_on(way, "half:a"), other_half = make_stream_on(way, "half:b"),
		     whole = make_stream(), other = make_stream();
	std::vector<Job> mine = make_jobs(), others = make_jobs();

	for (const Job &job : mine)
		median_of(job, half);
	for (const Job &job : mine)
		for (size_t i = 0; i <= others.size(); i++) {
			const Job *neighbour = i ? &others[i - 1] : nullptr;
			printf("{\"job\": \"%s\", \"beside\": \"%s\"", job.name, i ? neighbour->name : "nothing");
			print_beside("whole_ms", job, whole, neighbour, other);
			print_beside("half_ms", job, half, neighbour, other_half);
			printf("}\n");
			fflush(stdout);
		}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned way = argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : 0;

	CHECK(cudaSetDevice(0));
	check_lens(gpulens_layout_open_cuda(&layout));
	if (argc > 2 && !strcmp(argv[1], "cases"))
		return measure_cases(way);
	if (argc > 2 && !strcmp(argv[1], "sizes"))
		return measure_sizes(way);
	if (argc > 2 && !strcmp(argv[1], "neighbours"))
		return measure_neighbours(way);
	if (argc > 1 && !strcmp(argv[1], "launches"))
		return measure_launches();
	fprintf(stderr, "usage: gpulens-tenants cases WAY|sizes WAY|launches|neighbours WAY\n");
	return 2;
}
