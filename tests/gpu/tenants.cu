// SPDX-License-Identifier: GPL-2.0
// Measures what partitions do to run times, with a matrix product of this file. Prints lines of JSON; times are from
// GPU events, in milliseconds unless stated otherwise.
//	tenants cases WAY    Table III of RTAS'23: a task alone, beside another like it, beside a task that launches without
//	                     end, the last two in disjoint halves, and alone in its half
//	tenants sizes WAY    Fig. 13 of RTAS'23: time by the number of TPCs, packed and distributed
//	tenants launches     the time of a launch: without masks, in a green context, with the callback, with masks
// WAY is a value of enum gpulens_way.
#include "check.cuh"
#include "gpulens-partition.h"
#include "libsmctrl.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

static const unsigned N = 2048, TILE = 32, JOBS = 300;

// c = a * b, N by N: 4,096 blocks of 1,024 threads.
__global__ void multiply(const float *a, const float *b, float *c)
{
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (unsigned at = 0; at < N; at += TILE) {
		left[threadIdx.y][threadIdx.x] = a[row * N + at + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * N + column];
		__syncthreads();
		for (unsigned i = 0; i < TILE; i++)
			sum += left[threadIdx.y][i] * right[i][threadIdx.x];
		__syncthreads();
	}
	c[row * N + column] = sum;
}

__global__ void nothing()
{
}

struct Task {
	float *a, *b, *c;
	cudaStream_t stream;

	explicit Task(cudaStream_t in) : stream(in)
	{
		for (float **matrix : {&a, &b, &c}) {
			CHECK(cudaMalloc(matrix, N * N * sizeof(float)));
			CHECK(cudaMemset(*matrix, 0, N * N * sizeof(float)));
		}
	}
	void launch() const
	{
		multiply<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE), 0, stream>>>(a, b, c);
		CHECK(cudaGetLastError());
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

	CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
	return made;
}

static std::vector<float> measure_times(const Task &task, unsigned jobs)
{
	std::vector<float> times(jobs);
	cudaEvent_t begin, end;

	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
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
			nothing<<<1, 32, 0, in>>>();
		}
		auto end = std::chrono::steady_clock::now();
		CHECK(cudaGetLastError());
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

int main(int argc, char **argv)
{
	unsigned way = argc > 2 ? static_cast<unsigned>(atoi(argv[2])) : 0;

	CHECK(cudaFree(nullptr));
	check_lens(gpulens_layout_open_cuda(&layout));
	if (argc > 2 && !strcmp(argv[1], "cases"))
		return measure_cases(way);
	if (argc > 2 && !strcmp(argv[1], "sizes"))
		return measure_sizes(way);
	if (argc > 1 && !strcmp(argv[1], "launches"))
		return measure_launches();
	fprintf(stderr, "usage: tenants cases WAY|sizes WAY|launches\n");
	return 2;
}
