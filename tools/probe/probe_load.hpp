// SPDX-License-Identifier: GPL-2.0
// gpulens-probe-kernels load: kernels or copies until standard input ends.
#pragma once
#include "probe/probe_launch.hpp"

#include <poll.h>
#include <unistd.h>

static bool input_ended()
{
	struct pollfd in = {STDIN_FILENO, POLLIN, 0};
	char byte;

	return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

// Repeats launch(i), i from 0, in two streams, so that one always has work while the other is waited for.
template <typename F> static void load_until_end(F launch)
{
	cudaStream_t streams[2];
	unsigned long count = 0;

	for (cudaStream_t &s : streams)
		CHECK(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, 0));
	launch(0, streams[0]);
	CHECK(cudaDeviceSynchronize());
	puts("ready");
	fflush(stdout);
	for (; !input_ended(); count++) {
		CHECK(cudaStreamSynchronize(streams[count % 2]));
		launch(count, streams[count % 2]);
	}
	CHECK(cudaDeviceSynchronize());
	printf("launches %lu\n", count);
}

// Fills all SMs several times: 16 blocks of 1024 threads for each.
static void load_kernels(const Limits &p, int kind)
{
	Kernel k;
	std::vector<Kernel> kernels;

	k.kind = kind;
	k.threads = 1024;
	k.blocks = 16 * (unsigned)p.sms;
	k.repeat = 1;
	k.work = kind == MATRIX ? 4096 : 1ULL << 30; // width; bytes, more than any L2 cache
	kernels.assign(2, k);                        // one for each stream
	prepare_kernels({&kernels[0], &kernels[1]}, p);
	load_until_end([&](unsigned long i, cudaStream_t s) { launch_kernel(kernels[i % 2], s, true); });
}

static void load_copies()
{
	const size_t bytes = 256 << 20;
	void *host[2], *memory[2];

	for (int i = 0; i < 2; i++) {
		CHECK(cudaMallocHost(&host[i], bytes));
		CHECK(cudaMalloc(&memory[i], bytes));
		memset(host[i], 0, bytes);
	}
	load_until_end([&](unsigned long i, cudaStream_t s) {
		if (i % 2)
			CHECK(cudaMemcpyAsync(host[1], memory[1], bytes, cudaMemcpyDeviceToHost, s));
		else
			CHECK(cudaMemcpyAsync(memory[0], host[0], bytes, cudaMemcpyHostToDevice, s));
	});
}

static void load_gpu(int device, const char *what)
{
	Limits p = print_machine(device, stdout);

	if (!strcmp(what, "copies"))
		load_copies();
	else
		load_kernels(p, strcmp(what, "memory") ? MATRIX : COPY);
}

static bool is_load(const char *what)
{
	return !strcmp(what, "compute") || !strcmp(what, "memory") || !strcmp(what, "copies");
}
