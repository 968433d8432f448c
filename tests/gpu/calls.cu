// SPDX-License-Identifier: GPL-2.0
// A program with CUDA's runtime, linked statically, for gpulens run --pitfalls: while a kernel runs in a stream, one thread frees
// memory and another launches in a stream of its own and in the default stream.
#include "check.cuh"

#include <chrono>
#include <cstdio>
#include <thread>

__global__ void spin_for(long long ns)
{
	long long begin, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - begin < ns);
}

static void sleep_ms(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

extern "C" __attribute__((noinline)) void release_memory(void *memory)
{
	CHECK(cudaFree(memory));
	asm volatile("");
}

extern "C" __attribute__((noinline)) void launch_by_default()
{
	spin_for<<<1, 1>>>(1000000);
	asm volatile("");
}

int main()
{
	cudaStream_t first, second;
	void *memory;

	CHECK(cudaMalloc(&memory, 4 << 20));
	CHECK(cudaStreamCreate(&first));
	CHECK(cudaStreamCreate(&second));
	spin_for<<<1, 1, 0, second>>>(1000);
	CHECK(cudaDeviceSynchronize());
	spin_for<<<1, 1, 0, first>>>(100000000);
	std::thread other([&] {
		sleep_ms(40);
		spin_for<<<1, 1, 0, second>>>(1000000);
		launch_by_default();
	});
	sleep_ms(20);
	release_memory(memory);
	other.join();
	CHECK(cudaDeviceSynchronize());
	std::puts("done");
}
