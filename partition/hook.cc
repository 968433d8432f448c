// SPDX-License-Identifier: GPL-2.0
// See hook.hpp.
#include "hook.hpp"

#include "symbol.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace gpulens {

void say_unpartitioned(const std::string &why)
{
	std::fprintf(stderr, "gpulens-partition: %s; the program ends, because it would run unpartitioned\n",
		     why.c_str());
}

std::string name_of(const GpuUuid &gpu)
{
	std::string text = "GPU";
	char byte[4];

	for (size_t i = 0; i < gpu.size(); i++) {
		std::snprintf(byte, sizeof(byte), "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      gpu[i]);
		text += byte;
	}
	return text;
}

namespace hook {

namespace {

using Callback = void (*)(void *, int domain, int id, const void *in);

constexpr unsigned char TABLE[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
				     0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
constexpr size_t SUBSCRIBE = 3, ENABLE = 6;
constexpr int DOMAIN = 0xb, BEFORE_UPLOAD = 1;
constexpr size_t CONTEXT = 1, DESCRIPTOR = 4, VERSION_AT = 72, MASK_AT = 304;
constexpr uint32_t MASKED = uint32_t{1} << 31;

// CUDA's driver API, which may be called from the callback: with driver 580 none failed, and a launch took no longer.
struct Driver {
	int (*current)(void **) = nullptr;
	int (*push)(void *) = nullptr;
	int (*pop)(void **) = nullptr;
	int (*device)(int *) = nullptr;
	int (*uuid)(unsigned char (*)[16], int) = nullptr;
};

struct Masks {
	std::mutex lock;
	std::map<const void *, LaunchMask> by_descriptor;
	std::optional<LaunchMask> global;
	uint64_t *masked = nullptr;
	Driver driver;
	GpuUuid gpu{};
	std::array<std::atomic<bool>, 64> verified{}; // by CUDA's number of the device: it is that GPU
};

// Kept for ever: threads of the program may launch while it exits.
Masks &masks()
{
	static Masks &all = *new Masks;
	return all;
}

thread_local Seen mine;
thread_local std::optional<LaunchMask> next;

// Within a launch there is nobody to return an error to.
[[noreturn]] void give_up(const std::string &why)
{
	say_unpartitioned(why);
	std::_Exit(1);
}

std::optional<LaunchMask> mask_of(const void *descriptor)
{
	std::optional<LaunchMask> mask = take_next();
	std::lock_guard<std::mutex> hold(masks().lock);

	if (!mask) {
		auto of = masks().by_descriptor.find(descriptor);
		mask = of == masks().by_descriptor.end() ? masks().global : of->second;
	}
	if (mask && masks().masked)
		++*masks().masked;
	return mask;
}

// Of a context, which is the calling thread's but for a stream of another one's. Nothing: CUDA does not say.
std::optional<int> device_of(void *context)
{
	const Driver &driver = masks().driver;
	void *current = nullptr;
	int device = 0, err = driver.current(&current);
	bool other = context != current;

	if (!err && other)
		err = driver.push(context);
	if (err)
		return std::nullopt;
	err = driver.device(&device);
	if (other)
		driver.pop(&current);
	return err || device < 0 ? std::nullopt : std::optional(device);
}

// Programs can replace CUDA_VISIBLE_DEVICES, and libraries' callers can have contexts on several GPUs.
void check_gpu(void *context)
{
	std::optional<int> device = device_of(context);
	GpuUuid is{};

	if (!device)
		give_up("CUDA does not tell on which GPU a launch is");
	auto known = static_cast<size_t>(*device);
	if (known < masks().verified.size() && masks().verified[known])
		return;
	if (masks().driver.uuid(reinterpret_cast<unsigned char(*)[16]>(is.data()), *device))
		give_up("CUDA does not tell on which GPU a launch is");
	if (is != masks().gpu)
		give_up("a launch is on " + name_of(is) + ", and masks were verified on " + name_of(masks().gpu));
	if (known < masks().verified.size())
		masks().verified[known] = true;
}

void before_upload(void *, int, int, const void *in)
{
	uint32_t bytes = 0, first = 0;

	std::memcpy(&bytes, in, sizeof(bytes));
	unsigned char *descriptor = bytes < (DESCRIPTOR + 1) * sizeof(void *)
					    ? nullptr
					    : static_cast<unsigned char *const *>(in)[DESCRIPTOR];
	mine = {.launches = mine.launches + 1,
		.version = descriptor ? descriptor[VERSION_AT] : 0U,
		.descriptor = descriptor,
		.context = descriptor ? static_cast<void *const *>(in)[CONTEXT] : nullptr};
	std::optional<LaunchMask> mask = mask_of(descriptor);
	if (!mask)
		return;
	if (mine.version != VERSION) {
		char why[80];
		std::snprintf(why, sizeof(why), "a launch has a descriptor of version %#x, not %#x", mine.version,
			      VERSION);
		give_up(why);
	}
	check_gpu(mine.context);
	std::memcpy(descriptor + MASK_AT, mask->data(), sizeof(*mask));
	std::memcpy(&first, descriptor, sizeof(first));
	first |= MASKED;
	std::memcpy(descriptor, &first, sizeof(first));
}

} // namespace

const char *subscribe(void *libcuda)
{
	Driver &driver = masks().driver;
	int (*get)(const void **, const void *) = nullptr;
	const void *table = nullptr;
	uint32_t handle = 0;

	if (!find(libcuda, "cuGetExportTable", get) || get(&table, TABLE) || !table ||
	    *static_cast<const size_t *>(table) <= ENABLE * sizeof(void *))
		return "this driver has no callback before a launch";
	if (!find(libcuda, "cuCtxGetCurrent", driver.current) || !find(libcuda, "cuCtxPushCurrent_v2", driver.push) ||
	    !find(libcuda, "cuCtxPopCurrent_v2", driver.pop) || !find(libcuda, "cuCtxGetDevice", driver.device) ||
	    !find(libcuda, "cuDeviceGetUuid", driver.uuid))
		return "this driver does not tell on which GPU a launch is";
	void *const *entries = static_cast<void *const *>(table);
	auto subscribe = reinterpret_cast<int (*)(uint32_t *, Callback, void *)>(entries[SUBSCRIBE]);
	auto enable = reinterpret_cast<int (*)(uint32_t, uint32_t, int, int)>(entries[ENABLE]);
	if (subscribe(&handle, before_upload, nullptr) || enable(1, handle, DOMAIN, BEFORE_UPLOAD))
		return "the driver refuses its callback before a launch (one subscriber at a time: a profiler, or "
		       "gpulens run?)";
	return nullptr;
}

void only_on(const GpuUuid &gpu)
{
	masks().gpu = gpu;
}

void set_next(const std::optional<LaunchMask> &mask)
{
	next = mask;
}

std::optional<LaunchMask> take_next()
{
	return std::exchange(next, std::nullopt);
}

void set_of_descriptor(const void *descriptor, const std::optional<LaunchMask> &mask)
{
	std::lock_guard<std::mutex> hold(masks().lock);

	if (mask)
		masks().by_descriptor[descriptor] = *mask;
	else
		masks().by_descriptor.erase(descriptor);
}

void set_global(const LaunchMask &mask)
{
	std::lock_guard<std::mutex> hold(masks().lock);

	masks().global = mask;
}

Seen seen()
{
	return mine;
}

void count_into(uint64_t *masked)
{
	std::lock_guard<std::mutex> hold(masks().lock);

	masks().masked = masked;
}

} // namespace hook
} // namespace gpulens
