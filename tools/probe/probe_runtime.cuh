// SPDX-License-Identifier: GPL-2.0
// What gpulens-probe-kernels asks of CUDA and of libgpulens-partition: errors, clocks, the GPU's properties, masks.
#pragma once
#include "block_kernels.cuh"

#include <dlfcn.h>
#include <time.h>

static void check_cuda(cudaError_t err, const char *call)
{
	if (err == cudaSuccess)
		return;
	fprintf(stderr, "gpulens-probe-kernels: %s: %s\n", call, cudaGetErrorString(err));
	exit(1);
}

#define CHECK(call) check_cuda(call, #call)

static const void *const FUNCTIONS[] = {(const void *)run_spin, (const void *)run_copy, (const void *)run_matrix,
					(const void *)run_walk, (const void *)run_walk};

static s64 host_now()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

// Sleeps until shortly before a time, and spins for the rest.
static void sleep_until(s64 time)
{
	const s64 spin = 200000; // more than waking up takes, ns
	struct timespec t;

	t.tv_sec = (time - spin) / 1000000000LL;
	t.tv_nsec = (time - spin) % 1000000000LL;
	while (host_now() < time - spin)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
	while (host_now() < time)
		;
}

// The same moment by both clocks, ns, and the error of that.
struct Moment {
	s64 host, gpu, error;
};

static Moment read_clocks(Mailbox *mail, cudaStream_t stream)
{
	const unsigned rounds = 200;
	Moment best = {0, 0, INT64_MAX};

	mail->asked = mail->answered = 0;
	answer_requests<<<1, 1, 0, stream>>>(mail, rounds, 1000000000);
	CHECK(cudaGetLastError());
	for (unsigned i = 1; i <= rounds; i++) {
		s64 from = host_now(), to = from;
		mail->asked = i;
		while (mail->answered != i && to - from < 2000000000LL)
			to = host_now();
		to = host_now();
		if (mail->answered != i)
			break;
		__sync_synchronize();
		if ((to - from + 1) / 2 < best.error)
			best = {from + (to - from) / 2, (s64)mail->time, (to - from + 1) / 2};
	}
	CHECK(cudaStreamSynchronize(stream));
	if (best.error == INT64_MAX) {
		fprintf(stderr, "gpulens-probe-kernels: the GPU does not see the CPU's memory change\n");
		exit(1);
	}
	return best;
}

static int max_connections()
{
	// Range and default: CUDA C++ Programming Guide, CUDA environment variables.
	const char *set = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	int n = set ? atoi(set) : 8;

	return n < 1 ? 8 : std::min(n, 32);
}

// out: nullptr: nothing is printed.
static cudaDeviceProp print_machine(int device, FILE *out)
{
	cudaDeviceProp p;

	CHECK(cudaSetDevice(device));
	CHECK(cudaGetDeviceProperties(&p, device));
	if (!out)
		return p;
	fprintf(out,
		"gpulens-probe 1\nname %s\nsms %d\nthreads_per_sm %d\nblocks_per_sm %d\nshared_per_block %zu\nchannels %d\n"
	       "capability %d\n",
	       p.name, p.multiProcessorCount, p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor,
	       p.sharedMemPerBlockOptin, max_connections(), 10 * p.major + p.minor);
	if (p.asyncEngineCount > 0)
		fprintf(out, "copy_engines %d\n", p.asyncEngineCount);
	return p;
}

// libsmctrl's functions in libgpulens-partition. They end the program where a mask cannot be set.
struct MaskFunctions {
	void (*all)(Bits) = nullptr;
	void (*stream)(void *, Bits) = nullptr;
	void (*next)(Bits) = nullptr;
};

static MaskFunctions load_masks()
{
	MaskFunctions f;
	void *library = dlopen("libgpulens-partition.so.0", RTLD_NOW);

	if (library) {
		f.all = (void (*)(Bits))dlsym(library, "libsmctrl_set_global_mask_ext");
		f.stream = (void (*)(void *, Bits))dlsym(library, "libsmctrl_set_stream_mask_ext");
		f.next = (void (*)(Bits))dlsym(library, "libsmctrl_set_next_mask_ext");
	}
	if (!f.all || !f.stream || !f.next) {
		fprintf(stderr, "gpulens-probe-kernels: sm_mask: %s\n", dlerror());
		exit(1);
	}
	return f;
}
