// SPDX-License-Identifier: GPL-2.0
// Loads the functions of the driver API that it calls, and ends the program where one is missing.
#include "device/runtime.hpp"

#include "device/kernels.hpp"
#include "lib/launch/symbol.hpp"
#include "partition/cuda.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <unordered_map>

using gpulens::cuda;

namespace {

constexpr unsigned PORTABLE_MAPPED = 3,
		   ATTACH_GLOBAL = 1; // CU_MEMHOSTALLOC_PORTABLE | _DEVICEMAP; CU_MEM_ATTACH_GLOBAL
constexpr int MAX_DYNAMIC_SHARED = 8, PREFERRED_CARVEOUT = 9, MOST_SHARED = 100; // CU_FUNC_ATTRIBUTE_..., percent
// CU_DEVICE_ATTRIBUTE_...
constexpr int MULTIPROCESSOR_COUNT = 16, MAX_THREADS_PER_MULTIPROCESSOR = 39, ASYNC_ENGINE_COUNT = 40,
	      CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76, MAX_SHARED_PER_BLOCK_OPTIN = 97,
	      MAX_BLOCKS_PER_MULTIPROCESSOR = 106;

// The function of that name in libcuda.so.1, with parameters of these types.
template <typename... P> auto find_function(const char *name) -> int (*)(P...)
{
	int (*function)(P...) = nullptr;

	if (gpulens::find_symbol(cuda().library, name, function))
		return function;
	fprintf(stderr, "%s: libcuda.so.1 has no %s\n", program_invocation_short_name, name);
	exit(1);
}

uint64_t to_address(const void *at)
{
	return reinterpret_cast<uintptr_t>(at);
}

// The kernels, loaded once in each process, which has one context.
void *load_kernels()
{
	void *module = nullptr;

	CHECK(cuda().load(&module, gpulens::KERNELS_PTX));
	return module;
}

// name: a literal.
void *find_kernel(const char *name)
{
	static void *const module = load_kernels();
	static thread_local std::unordered_map<const char *, void *> known;
	void *&function = known[name];

	if (!function)
		CHECK(cuda().function(&function, module, name));
	return function;
}

} // namespace

extern "C" {

cudaError_t cudaSetDevice(int device)
{
	try {
		gpulens::make_current(device);
		return cudaSuccess;
	} catch (const std::exception &e) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, e.what());
		exit(1);
	}
}

const char *cudaGetErrorString(cudaError_t err)
{
	static const auto describe = find_function<int, const char **>("cuGetErrorString");
	const char *text = nullptr;

	return describe(err, &text) ? "unknown error" : text;
}

cudaError_t cudaMalloc(void **to, size_t bytes)
{
	return cuda().alloc(reinterpret_cast<uint64_t *>(to), bytes);
}

cudaError_t cudaMallocHost(void **to, size_t bytes)
{
	return cudaHostAlloc(to, bytes, 0);
}

cudaError_t cudaHostAlloc(void **to, size_t bytes, unsigned)
{
	static const auto allocate = find_function<void **, size_t, unsigned>("cuMemHostAlloc");
	return allocate(to, bytes, PORTABLE_MAPPED);
}

cudaError_t cudaMallocManaged(void **to, size_t bytes, unsigned)
{
	static const auto allocate = find_function<void **, size_t, unsigned>("cuMemAllocManaged");
	return allocate(to, bytes, ATTACH_GLOBAL);
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
	static const auto set = find_function<uint64_t, unsigned char, size_t>("cuMemsetD8_v2");
	return set(to_address(to), static_cast<unsigned char>(value), bytes);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	static const auto set = find_function<uint64_t, unsigned char, size_t, void *>("cuMemsetD8Async");
	return set(to_address(to), static_cast<unsigned char>(value), bytes, stream);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
	static const auto copy = find_function<uint64_t, uint64_t, size_t>("cuMemcpy");
	return copy(to_address(to), to_address(from), bytes);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream)
{
	static const auto copy = find_function<uint64_t, uint64_t, size_t, void *>("cuMemcpyAsync");
	return copy(to_address(to), to_address(from), bytes, stream);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *to, unsigned flags, int priority)
{
	static const auto make = find_function<cudaStream_t *, unsigned, int>("cuStreamCreateWithPriority");
	return make(to, flags, priority);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	static const auto query = find_function<void *>("cuStreamQuery");
	return query(stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return cuda().wait(stream);
}

cudaError_t cudaDeviceSynchronize()
{
	static const auto synchronize = find_function<>("cuCtxSynchronize");
	return synchronize();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *to, unsigned flags)
{
	static const auto make = find_function<cudaEvent_t *, unsigned>("cuEventCreate");
	return make(to, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	static const auto destroy = find_function<void *>("cuEventDestroy_v2");
	return destroy(event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	static const auto record = find_function<void *, void *>("cuEventRecord");
	return record(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	static const auto wait = find_function<void *>("cuEventSynchronize");
	return wait(event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	static const auto measure = find_function<float *, void *, void *>("cuEventElapsedTime");
	return measure(ms, from, to);
}
}

namespace gpulens {

void check_call(cudaError_t err, const char *call)
{
	if (err == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, cudaGetErrorString(err));
	exit(1);
}

cudaError_t read_limits(int device, Limits *limits)
{
	static const auto read_name = find_function<char *, int, int>("cuDeviceGetName");
	int major = 0, minor = 0, err = read_name(limits->name, sizeof(limits->name), device);
	const struct {
		int which, *to;
	} wanted[] = {{MULTIPROCESSOR_COUNT, &limits->sms},
		      {MAX_THREADS_PER_MULTIPROCESSOR, &limits->threads_per_sm},
		      {MAX_BLOCKS_PER_MULTIPROCESSOR, &limits->blocks_per_sm},
		      {MAX_SHARED_PER_BLOCK_OPTIN, &limits->shared_per_block},
		      {ASYNC_ENGINE_COUNT, &limits->copy_engines},
		      {CAPABILITY_MAJOR, &major},
		      {CAPABILITY_MINOR, &minor}};

	for (const auto &one : wanted)
		err = err ? err : cuda().attribute(one.to, one.which, device);
	limits->capability = 10 * major + minor;
	return err;
}

cudaError_t launch_kernel(const char *kernel, const Grid &grid, void **parameters)
{
	return cuda().launch(find_kernel(kernel), grid.blocks[0], grid.blocks[1], 1, grid.threads[0], grid.threads[1],
			     1, static_cast<unsigned>(grid.shared), grid.stream, parameters, nullptr);
}

cudaError_t allow_shared(const char *kernel, int bytes)
{
	static const auto set = find_function<void *, int, int>("cuFuncSetAttribute");
	int err = set(find_kernel(kernel), MAX_DYNAMIC_SHARED, bytes);

	return err ? err : set(find_kernel(kernel), PREFERRED_CARVEOUT, MOST_SHARED);
}

cudaError_t count_blocks_per_sm(const char *kernel, int threads, size_t shared, int *blocks)
{
	static const auto count =
		find_function<int *, void *, int, size_t>("cuOccupancyMaxActiveBlocksPerMultiprocessor");
	return count(blocks, find_kernel(kernel), threads, shared);
}

} // namespace gpulens
