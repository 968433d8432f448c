// SPDX-License-Identifier: GPL-2.0
// The part of CUDA's runtime API that the programs of tools/probe call, over the driver API: names, values and
// meaning are CUDA's (CUDA Runtime API, reference manual), but each thread begins with cudaSetDevice(). So a plugin's own runtime shares the primary context with them, and
// tests link tests/support/cuda/fake_runtime.cc instead. All return 0 or an error, which cudaGetErrorString() knows.
#pragma once
#include <cstddef>
#include <cstdint>

using cudaError_t = int;
constexpr cudaError_t cudaSuccess = 0, cudaErrorNotReady = 600;
using cudaStream_t = struct CUstream_st *;
using cudaEvent_t = struct CUevent_st *;
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaHostAllocMapped = 2,
		   cudaEventDisableTiming = 2;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDefault = 4 };
#define cudaStreamLegacy reinterpret_cast<cudaStream_t>(1)

extern "C" {
cudaError_t cudaSetDevice(int device);
const char *cudaGetErrorString(cudaError_t err);
cudaError_t cudaMalloc(void **to, size_t bytes);
cudaError_t cudaMallocHost(void **to, size_t bytes);
cudaError_t cudaHostAlloc(void **to, size_t bytes, unsigned flags);
cudaError_t cudaMallocManaged(void **to, size_t bytes, unsigned flags);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *to, unsigned flags, int priority);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *to, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
}

// Ends the program with status 1 and a message where a call fails.
#define CHECK(call) gpulens::check_call(call, #call)

namespace gpulens {

void check_call(cudaError_t err, const char *call);

// What the programs use of a GPU's properties.
struct Limits {
	char name[256];
	int sms, threads_per_sm, blocks_per_sm, shared_per_block, copy_engines, capability; // 10 * major + minor
};
cudaError_t read_limits(int device, Limits *limits);

struct Grid {
	unsigned blocks[2], threads[2];
	size_t shared; // bytes
	cudaStream_t stream;
};
// Launches a kernel of kernels.cl.
cudaError_t launch_kernel(const char *kernel, const Grid &grid, void **parameters);
// Allows blocks of the kernel that much shared memory, and asks for as much as possible for each SM.
cudaError_t allow_shared(const char *kernel, int bytes);
// The number of its blocks that fit on an SM.
cudaError_t count_blocks_per_sm(const char *kernel, int threads, size_t shared, int *blocks);

// The same with the kernel's parameters as they are declared there.
template <typename... P> cudaError_t launch(const char *kernel, const Grid &grid, P... values)
{
	void *parameters[] = {&values..., nullptr};

	return launch_kernel(kernel, grid, parameters);
}

} // namespace gpulens
