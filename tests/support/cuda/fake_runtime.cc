// SPDX-License-Identifier: GPL-2.0
// What gpulens-probe-kernels asks of a GPU (tools/device/runtime.hpp), for tests without one: the program is linked with this file.
// It is CUDA's runtime of plugins, too, which nvcc links to none.
// The GPU has 4 SMs and room for everything; a stream's work begins when all before it in the stream has ended, and with the
// NULL stream by its documentation ("Stream synchronization behavior"). Kernels that spin or copy take their time, others none.
// A plugin's kernels with "spin" in their names take three parameters: ns, times of blocks, their SMs. Copies take 10 bytes per ns. Its clock is CLOCK_MONOTONIC, also as %globaltimer.
//
//	FAKE_RUNTIME_LOG=FILE  a line for each stream that is made (its flags), and the number of threads that launched
#include "device/kernels.hpp"
#include "device/runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

// Of CUDA's headers, for plugins.
struct dim3 {
	unsigned x, y, z;
};
using uint3 = dim3;
using cudaKernel_t = void *;
constexpr cudaError_t cudaErrorMemoryAllocation = 2;

namespace {

typedef unsigned long long u64;
typedef long long s64;

constexpr unsigned SMS = 4;
constexpr s64 BYTES_PER_NS = 10;
constexpr size_t MOST_COPIED = 65536; // in a stream: of larger copies nobody reads the data

using gpulens::BlockRecord;
using gpulens::Mailbox;

struct Stream {
	bool blocking = false, null = false;
	s64 until = 0;
	std::thread answering;
};
struct Event {
	s64 at = 0;
};
struct Call {
	dim3 grid, block;
	size_t shared;
	void *stream;
};

std::mutex lock;
std::set<Stream *> streams;
Stream null_stream;
std::set<std::thread::id> launchers;
thread_local Call configured;

// Names by functions of the host, which are registered before this file's variables exist.
std::map<const void *, std::string> &kernel_names()
{
	static std::map<const void *, std::string> all;
	return all;
}

s64 read_clock()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

void log_line(const std::string &line)
{
	const char *path = getenv("FAKE_RUNTIME_LOG");
	FILE *log = path ? fopen(path, "a") : nullptr;

	if (!log)
		return;
	fprintf(log, "%s\n", line.c_str());
	fclose(log);
}

Stream &find_stream(void *handle)
{
	null_stream.null = true;
	return !handle || handle == cudaStreamLegacy ? null_stream : *static_cast<Stream *>(handle);
}

// When work begins that is given to the stream now.
s64 begin_of(const Stream &s)
{
	s64 begin = std::max(read_clock(), s.until);

	if (s.blocking)
		begin = std::max(begin, null_stream.until);
	for (const Stream *other : streams)
		if (s.null && other->blocking)
			begin = std::max(begin, other->until);
	return begin;
}

void finish_work(Stream &s)
{
	while (read_clock() < s.until)
		usleep(20);
	if (s.answering.joinable())
		s.answering.join();
}

void answer_requests(Mailbox *mail, unsigned rounds)
{
	for (unsigned i = 1; i <= rounds; i++) {
		while (mail->asked != i)
			std::this_thread::yield();
		mail->time = static_cast<u64>(read_clock());
		std::atomic_thread_fence(std::memory_order_seq_cst);
		mail->answered = i;
	}
}

template <typename T> T get_parameter(void **parameters, int index)
{
	return *static_cast<T *>(parameters[index]);
}

// Follows the words as the kernel does, and ends the program if they are not one cycle.
void follow_words(const u64 *words, u64 count, unsigned reads, u64 *sums, u64 threads)
{
	u64 index = 0, steps = 0;

	do
		index = words[index];
	while (++steps < count && index);
	if (index || steps != count) {
		fprintf(stderr, "fake_runtime: the words of a walk are not one cycle\n");
		_exit(9);
	}
	for (u64 t = 0; t < threads; t++) {
		index = count / threads * t % count;
		for (unsigned i = 0; i < reads; i++)
			sums[t] += index = words[index];
	}
}

// A kernel of a plugin: ns, times of blocks, their SMs.
cudaError_t spin_plugin(Stream &s, s64 begin, unsigned blocks, void **parameters)
{
	s.until = begin + static_cast<s64>(get_parameter<u64>(parameters, 0));
	for (unsigned i = 0; i < blocks; i++) {
		get_parameter<u64 *>(parameters, 1)[2 * i] = static_cast<u64>(begin);
		get_parameter<u64 *>(parameters, 1)[2 * i + 1] = static_cast<u64>(s.until);
		get_parameter<unsigned *>(parameters, 2)[i] = i % SMS;
	}
	return cudaSuccess;
}

cudaError_t run_kernel(const std::string &name, const Call &call, void **parameters)
{
	std::lock_guard<std::mutex> hold(lock);
	Stream &s = find_stream(call.stream);
	unsigned blocks = call.grid.x;

	if (launchers.insert(std::this_thread::get_id()).second)
		log_line("launcher " + std::to_string(launchers.size()));
	if (name.find("answer_requests") != name.npos) {
		if (s.answering.joinable())
			s.answering.join();
		s.answering = std::thread(answer_requests, get_parameter<Mailbox *>(parameters, 0),
					  get_parameter<unsigned>(parameters, 1));
		return cudaSuccess;
	}
	s64 begin = begin_of(s), length = 0;
	if (name.find("run_spin") == name.npos && strcasestr(name.c_str(), "spin"))
		return spin_plugin(s, begin, blocks, parameters);
	if (name.find("measure_resolution") != name.npos) {
		get_parameter<Mailbox *>(parameters, 0)->time = 32;
		return cudaSuccess;
	}
	if (name.find("stamp") != name.npos) {
		*get_parameter<u64 *>(parameters, 0) = static_cast<u64>(begin);
		return cudaSuccess;
	}
	if (name.find("run_spin") != name.npos)
		length = static_cast<s64>(get_parameter<u64>(parameters, 1));
	else if (name.find("run_copy") != name.npos)
		length = static_cast<s64>(get_parameter<u64>(parameters, 3)) * 16 / BYTES_PER_NS;
	else if (name.find("run_walk") != name.npos)
		follow_words(get_parameter<const u64 *>(parameters, 1), get_parameter<u64>(parameters, 2),
			     get_parameter<unsigned>(parameters, 3), get_parameter<u64 *>(parameters, 4),
			     u64{blocks} * call.block.x);
	for (unsigned i = 0; i < blocks; i++)
		get_parameter<BlockRecord *>(parameters, 0)[i] = {static_cast<u64>(begin),
								  static_cast<u64>(begin + length), i % SMS};
	s.until = begin + length;
	return cudaSuccess;
}

cudaError_t allocate_zeroed(void **to, size_t bytes)
{
	*to = calloc(1, bytes);
	return *to ? cudaSuccess : cudaErrorMemoryAllocation;
}

} // namespace

extern "C" {

void **__cudaRegisterFatBinary(void *)
{
	static void *handle;
	return &handle;
}
void __cudaRegisterFatBinaryEnd(void **)
{
}
void __cudaUnregisterFatBinary(void **)
{
}
char __cudaInitModule(void **)
{
	return 1;
}
void __cudaRegisterFunction(void **, const char *host, char *device, const char *, int, uint3 *, uint3 *, dim3 *,
			    dim3 *, int *)
{
	kernel_names()[host] = device;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
	configured = {grid, block, shared, stream};
	return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	*grid = configured.grid;
	*block = configured.block;
	*shared = configured.shared;
	*static_cast<void **>(stream) = configured.stream;
	return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **parameters, size_t shared,
			     cudaStream_t stream)
{
	return run_kernel(kernel_names().at(function), {grid, block, shared, stream}, parameters);
}
// As of CUDA 12.
cudaError_t __cudaGetKernel(cudaKernel_t *to, const void *function)
{
	*to = static_cast<cudaKernel_t>(const_cast<void *>(function));
	return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **parameters, size_t shared,
			       cudaStream_t stream)
{
	return cudaLaunchKernel(kernel, grid, block, parameters, shared, stream);
}

cudaError_t cudaSetDevice(int)
{
	return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t)
{
	return "an error of the fake runtime";
}
cudaError_t cudaGetLastError()
{
	return cudaSuccess;
}
cudaError_t cudaMalloc(void **to, size_t bytes)
{
	return allocate_zeroed(to, bytes);
}
cudaError_t cudaMallocHost(void **to, size_t bytes)
{
	return allocate_zeroed(to, bytes);
}
cudaError_t cudaHostAlloc(void **to, size_t bytes, unsigned)
{
	return allocate_zeroed(to, bytes);
}
cudaError_t cudaMallocManaged(void **to, size_t bytes, unsigned)
{
	return allocate_zeroed(to, bytes);
}
cudaError_t cudaFree(void *memory)
{
	free(memory);
	return cudaSuccess;
}
cudaError_t cudaFreeHost(void *memory)
{
	free(memory);
	return cudaSuccess;
}
cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
	memset(to, value, bytes);
	return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
	memcpy(to, from, bytes);
	return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream)
{
	std::lock_guard<std::mutex> hold(lock);
	Stream &s = find_stream(stream);

	memcpy(to, from, std::min(bytes, MOST_COPIED));
	s.until = begin_of(s) + static_cast<s64>(bytes) / BYTES_PER_NS;
	return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *to, unsigned flags, int priority)
{
	std::lock_guard<std::mutex> hold(lock);
	Stream *s = new Stream();

	s->blocking = flags == cudaStreamDefault;
	streams.insert(s);
	log_line("stream " + std::to_string(flags) + " " + std::to_string(priority));
	*to = reinterpret_cast<cudaStream_t>(s);
	return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *to, unsigned flags)
{
	return cudaStreamCreateWithPriority(to, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *to)
{
	return cudaStreamCreateWithPriority(to, cudaStreamDefault, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t)
{
	return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
	*lowest = 0;
	*highest = -5;
	return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	std::lock_guard<std::mutex> hold(lock);
	return read_clock() >= find_stream(stream).until ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	finish_work(find_stream(stream));
	return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize()
{
	finish_work(null_stream);
	for (Stream *s : streams)
		finish_work(*s);
	return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *to, unsigned)
{
	*to = reinterpret_cast<cudaEvent_t>(new Event());
	return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *to)
{
	return cudaEventCreateWithFlags(to, 0);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	std::lock_guard<std::mutex> hold(lock);
	Stream &s = find_stream(stream);

	s.until = begin_of(s);
	reinterpret_cast<Event *>(event)->at = s.until;
	return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	*ms = static_cast<float>(reinterpret_cast<Event *>(to)->at - reinterpret_cast<Event *>(from)->at) / 1e6F;
	return cudaSuccess;
}
}

namespace gpulens {

void check_call(cudaError_t err, const char *call)
{
	if (err != cudaSuccess) {
		fprintf(stderr, "fake_runtime: %s: %d\n", call, err);
		exit(1);
	}
}

cudaError_t read_limits(int, Limits *limits)
{
	*limits = {"Fake GPU", SMS, 2048, 32, 49152, 2, 90};
	return cudaSuccess;
}

cudaError_t launch_kernel(const char *kernel, const Grid &grid, void **parameters)
{
	return run_kernel(kernel, {{grid.blocks[0], 1, 1}, {grid.threads[0], 1, 1}, grid.shared, grid.stream},
			  parameters);
}

cudaError_t allow_shared(const char *, int)
{
	return cudaSuccess;
}

cudaError_t count_blocks_per_sm(const char *, int threads, size_t, int *blocks)
{
	*blocks = 2048 / threads;
	return cudaSuccess;
}

} // namespace gpulens
