// SPDX-License-Identifier: GPL-2.0
// See fake_calls.hpp; memory, and functions that only tests of calls need.
#include "fake_calls.hpp"

#include "fake_work.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

std::mutex driver_lock;
std::atomic<int64_t> last_end, barrier;

void raise_to(std::atomic<int64_t> &to, int64_t value)
{
	int64_t before = to;

	while (before < value && !to.compare_exchange_weak(before, value))
		;
}

// What FAKE_CUDA_BLOCKS has about the name.
std::string effects_of(const char *name)
{
	const char *text = getenv("FAKE_CUDA_BLOCKS");
	std::string all = text ? std::string(",") + text + "," : "", key = std::string(",") + name + ":";
	size_t at = all.find(key);

	if (at == all.npos)
		return "";
	at += key.size();
	return all.substr(at, all.find(',', at) - at);
}

void sleep_until(int64_t at)
{
	timespec t{at / 1'000'000'000, at % 1'000'000'000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr))
		;
}

void *to_pointer(uint64_t where)
{
	return reinterpret_cast<void *>(where); // NOLINT(performance-no-int-to-ptr)
}

bool has_effect(const std::string &effects, const char *effect)
{
	return effects.find(effect) != effects.npos;
}

} // namespace

BlockingCall::BlockingCall(const char *name)
{
	std::string effects = effects_of(name);

	if (const char *slow = getenv("FAKE_CUDA_SLOW_US")) {
		timespec t{0, 1000 * atol(slow)};
		nanosleep(&t, nullptr);
	}
	if (has_effect(effects, "kernels"))
		raise_to(barrier, last_end);
	if (has_effect(effects, "threads")) {
		driver_lock.lock();
		locked_ = true;
	}
	if (has_effect(effects, "caller"))
		sleep_until(last_end);
}

BlockingCall::~BlockingCall()
{
	if (locked_)
		driver_lock.unlock();
}

// Without a script there is no lock, which would order launches for tools that look for races.
void wait_for_other_threads()
{
	if (!getenv("FAKE_CUDA_BLOCKS"))
		return;
	std::lock_guard<std::mutex> hold(driver_lock);
}

int64_t earliest_begin()
{
	return barrier;
}

void note_kernel(int64_t end, bool legacy)
{
	raise_to(last_end, end);
	if (legacy && has_effect(effects_of("legacy"), "kernels"))
		raise_to(barrier, end);
}

extern "C" {

// Like the real library, asks the driver for a channel group before the first work: NVOS21_PARAMETERS with class
// KEPLER_CHANNEL_GROUP_A. There is no driver here, but a tracer of system calls sees the ioctl.
static void request_channel_group()
{
	static pid_t asked;
	uint32_t params[8] = {1, 2, 0, 0xa06c};

	if (asked != getpid())
		syscall(SYS_ioctl, -1, 0xc020462b, params);
	asked = getpid();
}

int cuMemAlloc_v2(uint64_t *to, size_t size)
{
	BlockingCall call(__func__);

	request_channel_group();
	*to = reinterpret_cast<uint64_t>(calloc(1, size));
	return 0;
}

int cuMemFree_v2(uint64_t memory)
{
	BlockingCall call(__func__);
	free(to_pointer(memory));
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size)
{
	BlockingCall call(__func__);
	memcpy(to, to_pointer(from), size);
	return 0;
}

int cuCtxSynchronize()
{
	BlockingCall call(__func__);
	return 0;
}

int cuMemFreeHost(void *memory)
{
	BlockingCall call(__func__);
	free(memory);
	return 0;
}

int cuMemsetD8Async(uint64_t memory, unsigned char value, size_t bytes, void *)
{
	memset(to_pointer(memory), value, bytes);
	return 0;
}

int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		   void **);

// The fake has no per-thread default stream: it is the default stream here, too.
int cuLaunchKernel_ptsz(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			unsigned shared, void *stream, void **parameters, void **extra)
{
	return cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

// Only their addresses are used, so that their parameters do not matter.
void cuEventRecord();
void cuModuleGetFunction();
void cuStreamCreate();
void cuStreamSynchronize();

int cuGetProcAddress_v2(const char *name, void **to, int version, uint64_t flags, int *status)
{
	struct Function {
		const char *name;
		int since;
		uint64_t flags;
		void *address;
	};
	static const Function functions[] = {
		{"cuCtxSynchronize", 2000, 0, reinterpret_cast<void *>(cuCtxSynchronize)},
		{"cuEventRecord", 2000, 0, reinterpret_cast<void *>(cuEventRecord)},
		{"cuGetProcAddress", 12000, 0, reinterpret_cast<void *>(cuGetProcAddress_v2)},
		{"cuLaunchKernel", 4000, 0, reinterpret_cast<void *>(cuLaunchKernel)},
		{"cuLaunchKernel", 7000, 2, reinterpret_cast<void *>(cuLaunchKernel_ptsz)},
		{"cuMemAlloc", 3020, 0, reinterpret_cast<void *>(cuMemAlloc_v2)},
		{"cuMemFree", 3020, 0, reinterpret_cast<void *>(cuMemFree_v2)},
		{"cuMemFreeHost", 2000, 0, reinterpret_cast<void *>(cuMemFreeHost)},
		{"cuMemcpyDtoH", 3020, 0, reinterpret_cast<void *>(cuMemcpyDtoH_v2)},
		{"cuModuleGetFunction", 2000, 0, reinterpret_cast<void *>(cuModuleGetFunction)},
		{"cuStreamCreate", 2000, 0, reinterpret_cast<void *>(cuStreamCreate)},
		{"cuStreamSynchronize", 2000, 0, reinterpret_cast<void *>(cuStreamSynchronize)}};

	*to = nullptr;
	for (const Function &f : functions)
		if (!strcmp(f.name, name) && f.since <= version && (!f.flags || f.flags == flags))
			*to = f.address; // the last is the best
	if (status)
		*status = *to ? 0 : 1;
	return *to ? 0 : 500;
}
}
