// SPDX-License-Identifier: GPL-2.0
// Memory of the kernels of gpulens-probe-kernels, and their launches.
#pragma once
#include "probe_runtime.cuh"

#include <random>

// Allocates the words of a walk, and makes one cycle of them: in order, or at random (Sattolo's algorithm).
static void prepare_walk(Kernel &k)
{
	size_t count = k.work / sizeof(u64);
	std::vector<u64> words(count);
	std::mt19937_64 random(1); // the same order in each run

	if (k.memory == DEVICE)
		CHECK(cudaMalloc(&k.a, count * sizeof(u64)));
	else if (k.memory == ZERO_COPY)
		CHECK(cudaHostAlloc(&k.a, count * sizeof(u64), cudaHostAllocMapped));
	else
		CHECK(cudaMallocManaged(&k.a, count * sizeof(u64)));
	for (size_t i = 0; i < count; i++)
		words[i] = k.kind == RANDOM_WALK ? i : (i + 1) % count;
	for (size_t i = count - 1; k.kind == RANDOM_WALK && i > 0; i--)
		std::swap(words[i], words[random() % i]);
	CHECK(cudaMemcpy(k.a, words.data(), count * sizeof(u64), cudaMemcpyDefault));
	CHECK(cudaMalloc(&k.b, (size_t)k.blocks * k.threads * sizeof(u64)));
}

// Allocates memory for each kernel, and sets the same attributes for all of them: an SM that has to change its share of
// shared memory between two kernels waits first until it is idle.
static void prepare_kernels(const std::vector<Kernel *> &kernels, const cudaDeviceProp &p)
{
	for (const void *f : FUNCTIONS) {
		CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)p.sharedMemPerBlockOptin));
		CHECK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout,
					   cudaSharedmemCarveoutMaxShared));
	}
	for (Kernel *kernel : kernels) {
		Kernel &k = *kernel;
		size_t records = std::max<size_t>(k.launches.size(), 1) * k.blocks * sizeof(BlockRecord);
		CHECK(cudaMalloc(&k.records, records));
		CHECK(cudaMemset(k.records, 0, records));
		CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&k.per_sm, FUNCTIONS[k.kind], (int)k.threads,
								    k.all_shared()));
		if (!k.per_sm)
			refuse_input("a block does not fit on an SM");
		size_t bytes = k.kind == MATRIX ? k.work * k.work * sizeof(float) : k.work;
		if (k.is_walk())
			prepare_walk(k);
		if (k.kind == SPIN || k.is_walk())
			continue;
		for (void **buffer : {&k.a, &k.b, &k.c}) {
			if (buffer == &k.c && k.kind == COPY)
				continue;
			CHECK(cudaMalloc(buffer, bytes));
			CHECK(cudaMemset(*buffer, 0, bytes));
		}
	}
}

// work: false: launch one block without work, to load the kernel.
static void launch_kernel(const Kernel &k, cudaStream_t s, bool work, unsigned iteration = 0)
{
	u64 amount = work ? k.work : 0;
	unsigned blocks = work ? k.blocks : 1;
	BlockRecord *records = k.records + (size_t)iteration * k.blocks;

	if (k.kind == SPIN)
		run_spin<<<blocks, k.threads, k.all_shared(), s>>>(records, amount);
	else if (k.is_walk())
		run_walk<<<blocks, k.threads, k.all_shared(), s>>>(records, (const u64 *)k.a, k.work / sizeof(u64),
							       work ? k.repeat : 0, (u64 *)k.b);
	else if (k.kind == COPY)
		run_copy<<<blocks, k.threads, k.all_shared(), s>>>(records, (const uint4 *)k.a, (uint4 *)k.b,
							       amount / sizeof(uint4), k.repeat);
	else
		run_matrix<<<blocks, k.threads, k.all_shared(), s>>>(records, (const float *)k.a, (const float *)k.b,
								 (float *)k.c, (unsigned)amount, k.repeat, k.side());
	CHECK(cudaGetLastError());
}
