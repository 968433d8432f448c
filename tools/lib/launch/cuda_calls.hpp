// SPDX-License-Identifier: GPL-2.0
// Functions of CUDA's driver API whose calls gpulens run --pitfalls records. Signatures and versions are those of cuda.h and
// cudaTypedefs.h of CUDA 13.0. Header only, since it is also part of what is preloaded.
#pragma once
#include "gpulens/types.h"

#include <string_view>

namespace gpulens {

enum class CallKind : u8 {
	Launch,       // of kernels and graphs: asynchronous
	Enqueue,      // other work in streams: asynchronous
	CopyAsync,    // asynchronous, but a copy from or to pageable memory may wait for itself
	Copy,         // synchronous
	Set,          // of memory, in the default stream
	Wait,         // explicit synchronization
	Allocate,     // device memory
	Free,         // device memory
	AllocateHost, // page-locked memory
	FreeHost,     // page-locked memory
	Stream,       // makes or destroys a stream
	Module,       // loads or unloads code
};

// Whether CUDA describes calls of this kind as asynchronous, and nothing of their own makes them wait.
constexpr bool is_asynchronous(CallKind kind)
{
	return kind == CallKind::Launch || kind == CallKind::Enqueue;
}

// CUlaunchConfig, as far as it is read.
struct LaunchConfig {
	unsigned grid[3], block[3], shared_bytes;
	void *stream;
};

constexpr int NEWEST_KNOWN_CUDA = 13000; // signatures are known up to this version

using DevicePointer = u64;

// ROW(symbol, name, since, per_thread, kind, stream, parameters, arguments)
//	symbol      exported by libcuda.so.1
//	name, since what cuGetProcAddress() is asked for, and CUDA's version, 1000 * major + 10 * minor, from which on this is the
//	            symbol. per_thread: with CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
//	stream      expression of the parameters; DEFAULT_STREAM: used implicitly; NO_STREAM
#define GPULENS_PAIR(ROW, symbol, suffix, name, since, since_per_thread, kind, stream, ...)                            \
	ROW(symbol, name, since, false, kind, stream, __VA_ARGS__)                                                     \
	ROW(symbol##suffix, name, since_per_thread, true, kind, stream, __VA_ARGS__)

#define GPULENS_CUDA_CALLS(ROW)                                                                                        \
	GPULENS_PAIR(ROW, cuLaunchKernel, _ptsz, "cuLaunchKernel", 4000, 7000, Launch, s,                              \
		     (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,           \
		      unsigned shared, void *s, void **p, void **x),                                                   \
		     (f, gx, gy, gz, bx, by, bz, shared, s, p, x))                                                     \
	GPULENS_PAIR(ROW, cuLaunchKernelEx, _ptsz, "cuLaunchKernelEx", 11060, 11060, Launch, c->stream,                \
		     (const LaunchConfig *c, void *f, void **p, void **x), (c, f, p, x))                               \
	GPULENS_PAIR(ROW, cuLaunchCooperativeKernel, _ptsz, "cuLaunchCooperativeKernel", 9000, 9000, Launch, s,        \
		     (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,           \
		      unsigned shared, void *s, void **p),                                                             \
		     (f, gx, gy, gz, bx, by, bz, shared, s, p))                                                        \
	GPULENS_PAIR(ROW, cuGraphLaunch, _ptsz, "cuGraphLaunch", 10000, 10000, Launch, s, (void *g, void *s), (g, s))  \
	GPULENS_PAIR(ROW, cuEventRecord, _ptsz, "cuEventRecord", 2000, 7000, Enqueue, s, (void *e, void *s), (e, s))   \
	GPULENS_PAIR(ROW, cuMemsetD8Async, _ptsz, "cuMemsetD8Async", 3020, 7000, Enqueue, s,                           \
		     (DevicePointer d, unsigned char v, size_t n, void *s), (d, v, n, s))                              \
	GPULENS_PAIR(ROW, cuMemsetD32Async, _ptsz, "cuMemsetD32Async", 3020, 7000, Enqueue, s,                         \
		     (DevicePointer d, unsigned v, size_t n, void *s), (d, v, n, s))                                   \
	GPULENS_PAIR(ROW, cuMemAllocAsync, _ptsz, "cuMemAllocAsync", 11020, 11020, Enqueue, s,                         \
		     (DevicePointer * d, size_t n, void *s), (d, n, s))                                                \
	GPULENS_PAIR(ROW, cuMemFreeAsync, _ptsz, "cuMemFreeAsync", 11020, 11020, Enqueue, s,                           \
		     (DevicePointer d, void *s), (d, s))                                                               \
	GPULENS_PAIR(ROW, cuMemcpyAsync, _ptsz, "cuMemcpyAsync", 4000, 7000, CopyAsync, s,                             \
		     (DevicePointer d, DevicePointer f, size_t n, void *s), (d, f, n, s))                              \
	GPULENS_PAIR(ROW, cuMemcpyHtoDAsync_v2, _ptsz, "cuMemcpyHtoDAsync", 3020, 7000, CopyAsync, s,                  \
		     (DevicePointer d, const void *f, size_t n, void *s), (d, f, n, s))                                \
	GPULENS_PAIR(ROW, cuMemcpyDtoHAsync_v2, _ptsz, "cuMemcpyDtoHAsync", 3020, 7000, CopyAsync, s,                  \
		     (void *d, DevicePointer f, size_t n, void *s), (d, f, n, s))                                      \
	GPULENS_PAIR(ROW, cuMemcpyDtoDAsync_v2, _ptsz, "cuMemcpyDtoDAsync", 3020, 7000, CopyAsync, s,                  \
		     (DevicePointer d, DevicePointer f, size_t n, void *s), (d, f, n, s))                              \
	GPULENS_PAIR(ROW, cuMemcpy2DAsync_v2, _ptsz, "cuMemcpy2DAsync", 3020, 7000, CopyAsync, s,                      \
		     (const void *c, void *s), (c, s))                                                                 \
	GPULENS_PAIR(ROW, cuMemcpy3DAsync_v2, _ptsz, "cuMemcpy3DAsync", 3020, 7000, CopyAsync, s,                      \
		     (const void *c, void *s), (c, s))                                                                 \
	GPULENS_PAIR(ROW, cuMemcpy, _ptds, "cuMemcpy", 4000, 7000, Copy, DEFAULT_STREAM,                               \
		     (DevicePointer d, DevicePointer f, size_t n), (d, f, n))                                          \
	GPULENS_PAIR(ROW, cuMemcpyHtoD_v2, _ptds, "cuMemcpyHtoD", 3020, 7000, Copy, DEFAULT_STREAM,                    \
		     (DevicePointer d, const void *f, size_t n), (d, f, n))                                            \
	GPULENS_PAIR(ROW, cuMemcpyDtoH_v2, _ptds, "cuMemcpyDtoH", 3020, 7000, Copy, DEFAULT_STREAM,                    \
		     (void *d, DevicePointer f, size_t n), (d, f, n))                                                  \
	GPULENS_PAIR(ROW, cuMemcpyDtoD_v2, _ptds, "cuMemcpyDtoD", 3020, 7000, Copy, DEFAULT_STREAM,                    \
		     (DevicePointer d, DevicePointer f, size_t n), (d, f, n))                                          \
	GPULENS_PAIR(ROW, cuMemcpy2D_v2, _ptds, "cuMemcpy2D", 3020, 7000, Copy, DEFAULT_STREAM, (const void *c), (c))  \
	GPULENS_PAIR(ROW, cuMemcpy2DUnaligned_v2, _ptds, "cuMemcpy2DUnaligned", 3020, 7000, Copy, DEFAULT_STREAM,      \
		     (const void *c), (c))                                                                             \
	GPULENS_PAIR(ROW, cuMemcpy3D_v2, _ptds, "cuMemcpy3D", 3020, 7000, Copy, DEFAULT_STREAM, (const void *c), (c))  \
	GPULENS_PAIR(ROW, cuMemsetD8_v2, _ptds, "cuMemsetD8", 3020, 7000, Set, DEFAULT_STREAM,                         \
		     (DevicePointer d, unsigned char v, size_t n), (d, v, n))                                          \
	GPULENS_PAIR(ROW, cuMemsetD16_v2, _ptds, "cuMemsetD16", 3020, 7000, Set, DEFAULT_STREAM,                       \
		     (DevicePointer d, unsigned short v, size_t n), (d, v, n))                                         \
	GPULENS_PAIR(ROW, cuMemsetD32_v2, _ptds, "cuMemsetD32", 3020, 7000, Set, DEFAULT_STREAM,                       \
		     (DevicePointer d, unsigned v, size_t n), (d, v, n))                                               \
	GPULENS_PAIR(ROW, cuStreamSynchronize, _ptsz, "cuStreamSynchronize", 2000, 7000, Wait, NO_STREAM, (void *s),   \
		     (s))                                                                                              \
	ROW(cuCtxSynchronize, "cuCtxSynchronize", 2000, false, Wait, NO_STREAM, (), ())                                \
	ROW(cuCtxSynchronize_v2, "cuCtxSynchronize", 13000, false, Wait, NO_STREAM, (void *c), (c))                    \
	ROW(cuEventSynchronize, "cuEventSynchronize", 2000, false, Wait, NO_STREAM, (void *e), (e))                    \
	ROW(cuMemAlloc_v2, "cuMemAlloc", 3020, false, Allocate, NO_STREAM, (DevicePointer * d, size_t n), (d, n))      \
	ROW(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, false, Allocate, NO_STREAM,                                   \
	    (DevicePointer * d, size_t * pitch, size_t w, size_t h, unsigned e), (d, pitch, w, h, e))                  \
	ROW(cuMemAllocManaged, "cuMemAllocManaged", 6000, false, Allocate, NO_STREAM,                                  \
	    (DevicePointer * d, size_t n, unsigned flags), (d, n, flags))                                              \
	ROW(cuMemFree_v2, "cuMemFree", 3020, false, Free, NO_STREAM, (DevicePointer d), (d))                           \
	ROW(cuMemAllocHost_v2, "cuMemAllocHost", 3020, false, AllocateHost, NO_STREAM, (void **p, size_t n), (p, n))   \
	ROW(cuMemHostAlloc, "cuMemHostAlloc", 2020, false, AllocateHost, NO_STREAM,                                    \
	    (void **p, size_t n, unsigned flags), (p, n, flags))                                                       \
	ROW(cuMemHostRegister_v2, "cuMemHostRegister", 6050, false, AllocateHost, NO_STREAM,                           \
	    (void *p, size_t n, unsigned flags), (p, n, flags))                                                        \
	ROW(cuMemFreeHost, "cuMemFreeHost", 2000, false, FreeHost, NO_STREAM, (void *p), (p))                          \
	ROW(cuMemHostUnregister, "cuMemHostUnregister", 4000, false, FreeHost, NO_STREAM, (void *p), (p))              \
	ROW(cuStreamCreate, "cuStreamCreate", 2000, false, Stream, NO_STREAM, (void **s, unsigned flags), (s, flags))  \
	ROW(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050, false, Stream, NO_STREAM,                  \
	    (void **s, unsigned flags, int priority), (s, flags, priority))                                            \
	ROW(cuStreamDestroy_v2, "cuStreamDestroy", 4000, false, Stream, NO_STREAM, (void *s), (s))                     \
	ROW(cuModuleLoad, "cuModuleLoad", 2000, false, Module, NO_STREAM, (void **m, const char *file), (m, file))     \
	ROW(cuModuleLoadData, "cuModuleLoadData", 2000, false, Module, NO_STREAM, (void **m, const void *image),       \
	    (m, image))                                                                                                \
	ROW(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, false, Module, NO_STREAM,                                  \
	    (void **m, const void *image, unsigned n, void *o, void **v), (m, image, n, o, v))                         \
	ROW(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000, false, Module, NO_STREAM,                            \
	    (void **m, const void *image), (m, image))                                                                 \
	ROW(cuModuleUnload, "cuModuleUnload", 2000, false, Module, NO_STREAM, (void *m), (m))                          \
	ROW(cuLibraryLoadData, "cuLibraryLoadData", 12000, false, Module, NO_STREAM,                                   \
	    (void **l, const void *image, void *o, void **v, unsigned n, void *lo, void **lv, unsigned ln),            \
	    (l, image, o, v, n, lo, lv, ln))                                                                           \
	ROW(cuLibraryUnload, "cuLibraryUnload", 12000, false, Module, NO_STREAM, (void *l), (l))

// Indices of the table below.
enum class Call : u32 {
#define GPULENS_ROW(symbol, ...) symbol,
	GPULENS_CUDA_CALLS(GPULENS_ROW)
#undef GPULENS_ROW
		Count
};
constexpr u32 CALL_COUNT = static_cast<u32>(Call::Count);

struct CudaCall {
	std::string_view symbol, name;
	int since;
	bool per_thread;
	CallKind kind;
};

constexpr CudaCall CUDA_CALLS[CALL_COUNT] = {
#define GPULENS_ROW(symbol, name, since, per_thread, kind, ...) {#symbol, name, since, per_thread, CallKind::kind},
	GPULENS_CUDA_CALLS(GPULENS_ROW)
#undef GPULENS_ROW
};

} // namespace gpulens
