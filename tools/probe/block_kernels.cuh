// SPDX-License-Identifier: GPL-2.0
// Kernels that record when and on which SM each of their blocks runs, and those that compare the GPU's clock with the CPU's.
#pragma once
#include "probe_scenario.cuh"

struct BlockRecord {
	u64 start, end;
	unsigned sm;
};

static __device__ u64 gpu_now()
{
	u64 t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

static __device__ void begin_block(BlockRecord *records, u64 start)
{
	unsigned id;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
	if (!threadIdx.x) {
		records[blockIdx.x].start = start;
		records[blockIdx.x].sm = id;
	}
}

static __device__ void end_block(BlockRecord *records)
{
	__syncthreads();
	if (!threadIdx.x)
		records[blockIdx.x].end = gpu_now();
}

__global__ void __launch_bounds__(1024) run_spin(BlockRecord *records, u64 ns)
{
	u64 start = gpu_now();

	begin_block(records, start);
	while (gpu_now() - start < ns)
		;
	end_block(records);
}

__global__ void __launch_bounds__(1024) run_copy(BlockRecord *records, const uint4 *from, uint4 *to, u64 count,
						   unsigned repeat)
{
	begin_block(records, gpu_now());
	for (unsigned r = 0; r < repeat; r++)
		for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
			to[i] = from[i];
	end_block(records);
}

// c = a * b for square matrices of that width. A tile has side * side floats, one for each thread of a block; block b
// computes tiles b, b + gridDim.x, and so on.
__global__ void __launch_bounds__(1024)
	run_matrix(BlockRecord *records, const float *a, const float *b, float *c, unsigned width, unsigned repeat,
		   unsigned side)
{
	extern __shared__ float tiles[];
	float *ta = tiles, *tb = tiles + side * side;
	unsigned x = threadIdx.x % side, y = threadIdx.x / side, n = (width + side - 1) / side;

	begin_block(records, gpu_now());
	for (unsigned r = 0; r < repeat; r++)
		for (unsigned tile = blockIdx.x; tile < n * n; tile += gridDim.x) {
			unsigned row = tile / n * side + y, column = tile % n * side + x;
			float sum = 0;
			for (unsigned t = 0; t < n; t++) {
				unsigned i = t * side + x, j = t * side + y;
				ta[y * side + x] = row < width && i < width ? a[(u64)row * width + i] : 0;
				tb[y * side + x] = j < width && column < width ? b[(u64)j * width + column] : 0;
				__syncthreads();
				for (unsigned k = 0; k < side; k++)
					sum += ta[y * side + k] * tb[k * side + x];
				__syncthreads();
			}
			if (row < width && column < width)
				c[(u64)row * width + column] = sum;
		}
	end_block(records);
}

// words: each is the index of the next one to read. Threads begin at places that are spread evenly. sums: a word for each
// thread, so that the reads are not left out.
__global__ void __launch_bounds__(1024)
	run_walk(BlockRecord *records, const u64 *words, u64 count, unsigned reads, u64 *sums)
{
	u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x, threads = (u64)gridDim.x * blockDim.x;
	u64 index = count / threads * thread % count, sum = 0;

	begin_block(records, gpu_now());
	for (unsigned i = 0; i < reads; i++) {
		index = words[index];
		sum += index;
	}
	sums[thread] = sum;
	end_block(records);
}

// Pinned host memory through which CPU and GPU exchange requests and times.
struct Mailbox {
	volatile unsigned asked, answered; // number of the last request and reply
	volatile u64 time;                 // of the reply, GPU clock, ns
};

// Tells the time.
__global__ void tell_time(Mailbox *mail)
{
	mail->time = gpu_now();
}

// Replies to each request with the GPU's time; gives up after limit ns.
__global__ void answer_requests(Mailbox *mail, unsigned rounds, u64 limit)
{
	u64 start = gpu_now();

	for (unsigned i = 1; i <= rounds; i++) {
		while (mail->asked != i)
			if (gpu_now() - start > limit)
				return;
		mail->time = gpu_now();
		__threadfence_system();
		mail->answered = i;
	}
}

// Measures the smallest step of the GPU's clock.
__global__ void measure_resolution(Mailbox *mail, unsigned steps)
{
	u64 least = ~0ULL;

	for (unsigned i = 0; i < steps; i++) {
		u64 from = gpu_now(), to;
		do
			to = gpu_now();
		while (to == from);
		least = min(least, to - from);
	}
	mail->time = least;
}
