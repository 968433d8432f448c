// SPDX-License-Identifier: GPL-2.0
// What calls of the tests' libcuda.so.1 hold up while kernels run.
//
//	FAKE_CUDA_BLOCKS=cuMemFree_v2:caller+kernels+threads,legacy:kernels
//		caller   the call returns when all earlier kernels have ended
//		kernels  later kernels begin then
//		threads  launches of other threads return then, if the caller waits
//	legacy: launches in the default stream
//	FAKE_CUDA_SLOW_US=100  each of these calls takes so long at least
#pragma once
#include <cstdint>

// A call, from construction to destruction.
class BlockingCall {
public:
	explicit BlockingCall(const char *name);
	BlockingCall(const BlockingCall &) = delete;
	BlockingCall &operator=(const BlockingCall &) = delete;
	~BlockingCall();

private:
	bool locked_ = false;
};

void wait_for_other_threads(); // before a launch
int64_t earliest_begin();      // of a kernel that is launched now; CLOCK_MONOTONIC, ns
void note_kernel(int64_t end, bool legacy);
