// SPDX-License-Identifier: GPL-2.0
// Memory of the kernels of gpulens-probe-kernels, and their launches.
#pragma once
#include "probe/probe_runtime.hpp"

#include <random>

static const unsigned UINT4_BYTES = 16;

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
		CHECK(cudaMallocManaged(&k.a, count * sizeof(u64), 1)); // cudaMemAttachGlobal
	for (size_t i = 0; i < count; i++)
		words[i] = k.kind == RANDOM_WALK ? i : (i + 1) % count;
	for (size_t i = count - 1; k.kind == RANDOM_WALK && i > 0; i--)
		std::swap(words[i], words[random() % i]);
	CHECK(cudaMemcpy(k.a, words.data(), count * sizeof(u64), cudaMemcpyDefault));
	CHECK(cudaMalloc(&k.b, (size_t)k.blocks * k.threads * sizeof(u64)));
}

// Allocates memory for each kernel, and sets the same attributes for all of them: an SM that has to change its share of
// shared memory between two kernels waits first until it is idle.
static void prepare_kernels(const std::vector<Kernel *> &kernels, const Limits &p)
{
	for (const char *kernel : KERNELS)
		CHECK(gpulens::allow_shared(kernel, p.shared_per_block));
	for (Kernel *kernel : kernels) {
		Kernel &k = *kernel;
		size_t records = std::max<size_t>(k.launches.size(), 1) * k.blocks * sizeof(BlockRecord);
		CHECK(cudaMalloc((void **)&k.records, records));
		CHECK(cudaMemset(k.records, 0, records));
		CHECK(gpulens::count_blocks_per_sm(KERNELS[k.kind], (int)k.threads, k.all_shared(), &k.per_sm));
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
	gpulens::Grid grid{{work ? k.blocks : 1, 1}, {k.threads, 1}, k.all_shared(), s};
	BlockRecord *records = k.records + (size_t)iteration * k.blocks;
	const char *name = KERNELS[k.kind];

	if (k.kind == SPIN)
		CHECK(gpulens::launch(name, grid, records, amount));
	else if (k.is_walk())
		CHECK(gpulens::launch(name, grid, records, k.a, u64{k.work / sizeof(u64)}, work ? k.repeat : 0U, k.b));
	else if (k.kind == COPY)
		CHECK(gpulens::launch(name, grid, records, k.a, k.b, u64{amount / UINT4_BYTES}, k.repeat));
	else
		CHECK(gpulens::launch(name, grid, records, k.a, k.b, k.c, (unsigned)amount, k.repeat, k.side()));
}
