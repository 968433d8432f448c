// SPDX-License-Identifier: GPL-2.0
// Functions of libcuda.so.1 beyond gpulens::Cuda, which programs call that work on a GPU.
#pragma once
#include "partition/cuda.hpp"

namespace gpulens {

// All return a CUresult.
struct Driver {
	int (*name)(char *, int, int device);
	int (*make_event)(void **, unsigned flags);
	int (*record)(void *event, void *stream);
	int (*wait_event)(void *event);
	int (*elapsed)(float *ms, void *from, void *to);
	int (*host_alloc)(void **, size_t, unsigned flags);
	int (*to_device)(uint64_t, const void *, size_t, void *stream);
	int (*to_host)(void *, uint64_t, size_t, void *stream);
	int (*set)(uint64_t, unsigned char, size_t);
};
// Loads them at the first call. Throws Error (Missing).
const Driver &driver();

} // namespace gpulens
