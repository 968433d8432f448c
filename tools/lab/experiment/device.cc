// SPDX-License-Identifier: GPL-2.0
// Loads functions of the driver API, and implements logger and copier.
#include "lab/experiment/device.hpp"

#include "device/kernels.hpp"
#include "lib/base/errors.hpp"
#include "lib/launch/symbol.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <thread>
#include <time.h>

namespace tool::experiment {

using gpulens::check;
using gpulens::cuda;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr unsigned NON_BLOCKING = 1;    // CU_STREAM_NON_BLOCKING
constexpr unsigned PORTABLE_MAPPED = 3; // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
// CU_DEVICE_ATTRIBUTE_...
constexpr int MULTIPROCESSOR_COUNT = 16, MAX_THREADS_PER_MULTIPROCESSOR = 39, MAX_BLOCKS_PER_MULTIPROCESSOR = 106;
// Decisions: a switch of contexts takes hundreds of microseconds, and the timer's steps are at most one.
constexpr u64 GAP_NS = 20'000, LIMIT_NS = 60'000'000'000;
constexpr u32 MAX_SLICES = 200'000;
constexpr int CLOCK_ROUNDS = 10;

template <typename F> void load_function(const char *name, F &function)
{
	if (!gpulens::find_symbol(cuda().library, name, function))
		throw Error(Error::Missing, fmt::format("libcuda.so.1 has no {}", name));
}

Driver load_driver()
{
	Driver d{};

	load_function("cuDeviceGetName", d.name);
	load_function("cuEventCreate", d.make_event);
	load_function("cuEventRecord", d.record);
	load_function("cuEventSynchronize", d.wait_event);
	load_function("cuEventElapsedTime", d.elapsed);
	load_function("cuMemHostAlloc", d.host_alloc);
	load_function("cuMemcpyHtoDAsync_v2", d.to_device);
	load_function("cuMemcpyDtoHAsync_v2", d.to_host);
	load_function("cuMemsetD8_v2", d.set);
	return d;
}

void *make_event()
{
	void *event = nullptr;

	check(driver().make_event(&event, 0), "cuEventCreate");
	return event;
}

} // namespace

void Stage::wait_for(const std::atomic<u32> &value, u32 least) const
{
	steady_clock::time_point end = steady_clock::now() + START_PATIENCE;

	while (value < least) {
		if (failed)
			throw Error(Error::Failed, OTHER_FAILED);
		if (steady_clock::now() > end)
			throw Error(Error::TimedOut, "another process of the experiment was not ready within a minute");
		std::this_thread::sleep_for(milliseconds(1));
	}
}

void Stage::wait_for_stop() const
{
	while (!stop && !failed)
		std::this_thread::sleep_for(milliseconds(1));
}

const Driver &driver()
{
	static const Driver loaded = load_driver();
	return loaded;
}

Device::Device()
{
	// With lazy loading, the first launch of a kernel might wait for kernels that run.
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	gpulens::make_current(0);
	driver();
	check(cuda().load(&module_, gpulens::KERNELS_PTX), "loading the kernels of the experiments");
}

std::string Device::name() const
{
	char text[256] = "";

	check(driver().name(text, sizeof(text), 0), "cuDeviceGetName");
	return text;
}

blocks::Machine Device::machine() const
{
	int sms = 0, threads = 0, blocks = 0;

	check(cuda().attribute(&sms, MULTIPROCESSOR_COUNT, 0), "cuDeviceGetAttribute");
	check(cuda().attribute(&threads, MAX_THREADS_PER_MULTIPROCESSOR, 0), "cuDeviceGetAttribute");
	check(cuda().attribute(&blocks, MAX_BLOCKS_PER_MULTIPROCESSOR, 0), "cuDeviceGetAttribute");
	return {.name = name(),
		.sms = static_cast<u32>(sms),
		.threads_per_sm = static_cast<u32>(threads),
		.blocks_per_sm = static_cast<u32>(blocks)};
}

void *Device::function(const char *kernel) const
{
	void *function = nullptr;

	check(cuda().function(&function, module_, kernel), "cuModuleGetFunction");
	return function;
}

void Device::launch(const char *kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads_x, unsigned threads_y,
		    void *stream, void **parameters) const
{
	check(cuda().launch(function(kernel), blocks_x, blocks_y, 1, threads_x, threads_y, 1, 0, stream, parameters,
			    nullptr),
	      "cuLaunchKernel");
}

void *make_stream()
{
	void *stream = nullptr;

	check(cuda().make_stream(&stream, NON_BLOCKING), "cuStreamCreate");
	return stream;
}

uint64_t allocate(size_t bytes)
{
	uint64_t memory = 0;

	check(cuda().alloc(&memory, bytes), "cuMemAlloc");
	check(driver().set(memory, 0, bytes), "cuMemsetD8");
	return memory;
}

void *allocate_host(size_t bytes)
{
	void *memory = nullptr;

	check(driver().host_alloc(&memory, bytes, PORTABLE_MAPPED), "cuMemHostAlloc");
	std::memset(memory, 0, bytes);
	return memory;
}

s64 host_now()
{
	timespec t{};

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

Logger::Logger(const Device &device)
	: device_(device), stream_(make_stream()), records_(allocate((1 + 2 * size_t{MAX_SLICES}) * sizeof(u64))),
	  stop_(static_cast<volatile u32 *>(allocate_host(sizeof(u32))))
{
}

void Logger::start()
{
	// Pinned memory has the same address on the GPU (unified addressing).
	u64 stop = reinterpret_cast<uintptr_t>(stop_), gap = GAP_NS, limit = LIMIT_NS;
	u32 room = MAX_SLICES;
	void *parameters[] = {&records_, &stop, &gap, &limit, &room};

	*stop_ = 0;
	device_.launch("log_slices", 1, 1, 1, 1, stream_, parameters);
}

Spans Logger::finish()
{
	std::vector<u64> records(1);
	Spans spans;

	*stop_ = 1;
	check(cuda().wait(stream_), "running log_slices");
	check(cuda().copy(records.data(), records_, sizeof(u64)), "cuMemcpyDtoH");
	if (records[0] > MAX_SLICES)
		throw Error(Error::Failed, fmt::format("log_slices: {} slices, more than {}", records[0], MAX_SLICES));
	records.resize(1 + 2 * static_cast<size_t>(records[0]));
	check(cuda().copy(records.data(), records_, records.size() * sizeof(u64)), "cuMemcpyDtoH");
	for (size_t i = 1; i < records.size(); i += 2)
		spans.push_back({static_cast<s64>(records[i]), static_cast<s64>(records[i + 1])});
	return spans;
}

Copier::Copier(const Device &device, Work work, u64 chunk_bytes)
	: work_(work), bytes_(chunk_bytes), memory_(allocate(chunk_bytes)), host_(allocate_host(chunk_bytes)),
	  stream_(make_stream())
{
	uint64_t memory = allocate(sizeof(u64));
	void *parameters[] = {&memory};
	float least = 1e9F;

	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		void *before = make_event(), *after = make_event();
		u64 stamp = 0;
		float ms = 0;
		check(driver().record(before, stream_), "cuEventRecord");
		device.launch("stamp", 1, 1, 1, 1, stream_, parameters);
		check(driver().record(after, stream_), "cuEventRecord");
		check(driver().wait_event(after), "cuEventSynchronize");
		check(driver().elapsed(&ms, before, after), "cuEventElapsedTime");
		check(cuda().copy(&stamp, memory, sizeof(stamp)), "cuMemcpyDtoH");
		if (ms >= least)
			continue;
		least = ms;
		base_ = before;
		base_ns_ = static_cast<s64>(stamp) - static_cast<s64>(ms * 1e6F / 2);
	}
	for (size_t i = 0; i < AHEAD; i++)
		events_.push_back(make_event());
}

s64 Copier::time_of(void *event) const
{
	float ms = 0;

	check(driver().elapsed(&ms, base_, event), "cuEventElapsedTime");
	return base_ns_ + static_cast<s64>(static_cast<double>(ms) * 1e6);
}

// The first event is when copying begins.
void Copier::begin()
{
	enqueued_ = finished_ = 0;
	spans_.clear();
	check(driver().record(events_[0], stream_), "cuEventRecord");
	check(driver().wait_event(events_[0]), "cuEventSynchronize");
	last_ = time_of(events_[0]);
}

void Copier::enqueue()
{
	if (enqueued_ - finished_ == AHEAD)
		take_oldest();
	if (work_ == Work::CopyToGpu)
		check(driver().to_device(memory_, host_, bytes_, stream_), "cuMemcpyHtoDAsync");
	else
		check(driver().to_host(host_, memory_, bytes_, stream_), "cuMemcpyDtoHAsync");
	check(driver().record(events_[enqueued_ % AHEAD], stream_), "cuEventRecord");
	enqueued_++;
}

void Copier::take_oldest()
{
	void *event = events_[finished_ % AHEAD];

	check(driver().wait_event(event), "cuEventSynchronize");
	s64 now = std::max(last_, time_of(event));
	spans_.push_back({last_, now});
	last_ = now;
	finished_++;
}

Spans Copier::drain()
{
	while (finished_ < enqueued_)
		take_oldest();
	return std::move(spans_);
}

} // namespace tool::experiment
