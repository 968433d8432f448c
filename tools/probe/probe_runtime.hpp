// SPDX-License-Identifier: GPL-2.0
// What gpulens-probe-kernels asks of CUDA and of libgpulens-partition: errors, clocks, the GPU's properties, masks.
#pragma once
#include "probe/probe_scenario.hpp"

#include <dlfcn.h>
#include <time.h>

static const char *const KERNELS[] = {"run_spin", "run_copy", "run_matrix", "run_walk", "run_walk"}; // by Kind

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

static gpulens::Grid single_thread(cudaStream_t stream)
{
	return {{1, 1}, {1, 1}, 0, stream};
}

static Moment read_clocks(Mailbox *mail, cudaStream_t stream)
{
	const unsigned rounds = 200;
	Moment best = {0, 0, INT64_MAX};

	mail->asked = 0;
	mail->answered = 0;
	CHECK(gpulens::launch("answer_requests", single_thread(stream), mail, rounds, u64{1000000000}));
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
static Limits print_machine(int device, FILE *out)
{
	Limits p{};

	CHECK(cudaSetDevice(device));
	CHECK(gpulens::read_limits(device, &p));
	if (!out)
		return p;
	fprintf(out,
		"gpulens-probe 1\nname %s\nsms %d\nthreads_per_sm %d\nblocks_per_sm %d\nshared_per_block %d\nchannels "
		"%d\n"
		"capability %d\n",
		p.name, p.sms, p.threads_per_sm, p.blocks_per_sm, p.shared_per_block, max_connections(), p.capability);
	if (p.copy_engines > 0)
		fprintf(out, "copy_engines %d\n", p.copy_engines);
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
