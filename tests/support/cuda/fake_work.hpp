// SPDX-License-Identifier: GPL-2.0
// Time of the work of the tests' libcuda.so.1: kernels of gpulens-lab experiment, copies and events. Its clock is CLOCK_MONOTONIC,
// also as %globaltimer.
//
//	FAKE_CUDA_TURNS=PATH  processes take turns on the compute engine (2 ms) and on the copy engine (1 ms); files that begin with
//	                      PATH count them. Without it they run at once
//	FAKE_CUDA_COPIERS=2   so many processes take turns on the copy engine from the beginning on
//	FAKE_CUDA_CHANNELS=1   streams wait for no channel
#pragma once
#include <cstdint>
#include <vector>

// Work of a stream.
struct Queue {
	int64_t until = 0;                    // when all work that has a known end has ended
	unsigned number = 0;                  // among the streams of the process
	uint64_t *slices = nullptr, room = 0; // log_slices, while it runs: its records and their number
	volatile uint32_t *stop = nullptr;
	int64_t begin = 0;
};

Queue &queue_of(void *stream); // of a CUstream
bool is_under_mps();
// Returns a function for the name of a kernel of gpulens-lab experiment; null for others.
void *find_kernel(const char *name);
// Runs such a kernel. Returns false for other functions.
bool run_kernel(void *function, Queue &queue, unsigned blocks, const std::vector<uint32_t> &sms, void **parameters);
// Waits for the end of all work.
void finish_work(Queue &queue);
