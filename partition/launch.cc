// SPDX-License-Identifier: GPL-2.0
// See launch.hpp.
#include "launch.hpp"

#include "sources.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <strings.h>
#include <vector>

namespace gpulens {

namespace {

// -- the driver's API, as far as it is used; cuda.h is in no free package

using Callback = void (*)(void *, int domain, int id, const void *in);

struct Cuda {
	int (*init)(unsigned);
	int (*context)(void **);
	int (*set_context)(void *);
	int (*retain)(void **, int device);
	int (*device)(int *);
	int (*pci)(char *, int, int device);
	int (*table)(const void **, const void *uuid);
	int (*load)(void **, const void *);
	int (*unload)(void *);
	int (*function)(void **, void *, const char *);
	int (*alloc)(uint64_t *, size_t);
	int (*free)(uint64_t);
	int (*copy)(void *, uint64_t, size_t);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*wait)();
};

template <typename F> void find(void *library, const char *name, F &to)
{
	to = reinterpret_cast<F>(dlsym(library, name));
	if (!to)
		throw Error(ENOSYS, fmt::format("libcuda.so.1 has no {}", name));
}

Cuda load_cuda()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	Cuda c{};

	if (!library)
		throw Error(ENODEV, fmt::format("no CUDA: {}", dlerror()));
	find(library, "cuInit", c.init);
	find(library, "cuCtxGetCurrent", c.context);
	find(library, "cuCtxSetCurrent", c.set_context);
	find(library, "cuDevicePrimaryCtxRetain", c.retain);
	find(library, "cuCtxGetDevice", c.device);
	find(library, "cuDeviceGetPCIBusId", c.pci);
	find(library, "cuGetExportTable", c.table);
	find(library, "cuModuleLoadData", c.load);
	find(library, "cuModuleUnload", c.unload);
	find(library, "cuModuleGetFunction", c.function);
	find(library, "cuMemAlloc_v2", c.alloc);
	find(library, "cuMemFree_v2", c.free);
	find(library, "cuMemcpyDtoH_v2", c.copy);
	find(library, "cuLaunchKernel", c.launch);
	find(library, "cuCtxSynchronize", c.wait);
	return c;
}

void check(int result, const char *what)
{
	if (result)
		throw Error(EIO, fmt::format("{}: CUDA's error {}", what, result));
}

// -- the callback

constexpr unsigned char TABLE[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
				     0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
constexpr size_t SUBSCRIBE = 3, ENABLE = 6;
constexpr int DOMAIN = 0xb, BEFORE_UPLOAD = 1;
constexpr size_t DESCRIPTOR = 4, VERSION_AT = 72, MASK_AT = 304;
constexpr unsigned VERSION = 0x40; // 4.0: Hopper
constexpr uint32_t MASKED = uint32_t{1} << 31;

std::atomic<unsigned> launches{0}, version{0};
std::mutex global_lock;
std::optional<LaunchMask> global;
thread_local std::optional<LaunchMask> next;

// Within a launch there is nobody to return an error to.
[[noreturn]] void give_up(const std::string &why)
{
	say_unpartitioned(why);
	std::_Exit(1);
}

void before_upload(void *, int, int, const void *in)
{
	uint32_t bytes = 0, first = 0;
	std::optional<LaunchMask> mask = next;

	std::memcpy(&bytes, in, sizeof(bytes));
	if (!mask) {
		std::lock_guard<std::mutex> hold(global_lock);
		mask = global;
	}
	next.reset();
	unsigned char *descriptor = bytes < (DESCRIPTOR + 1) * sizeof(void *)
					    ? nullptr
					    : static_cast<unsigned char *const *>(in)[DESCRIPTOR];
	version = descriptor ? descriptor[VERSION_AT] : 0;
	launches++;
	if (!mask)
		return;
	if (version != VERSION)
		give_up(fmt::format("a launch has a descriptor of version {:#x}, not {:#x}", version.load(), VERSION));
	std::memcpy(descriptor + MASK_AT, mask->data(), sizeof(*mask));
	std::memcpy(&first, descriptor, sizeof(first));
	first |= MASKED;
	std::memcpy(descriptor, &first, sizeof(first));
}

void hook(const Cuda &cuda)
{
	const void *table = nullptr;
	uint32_t handle = 0;

	if (cuda.table(&table, TABLE) || !table || *static_cast<const size_t *>(table) <= ENABLE * sizeof(void *))
		throw Error(ENOSYS, "this driver has no callback before a launch");
	void *const *entries = static_cast<void *const *>(table);
	auto subscribe = reinterpret_cast<int (*)(uint32_t *, Callback, void *)>(entries[SUBSCRIBE]);
	auto enable = reinterpret_cast<int (*)(uint32_t, uint32_t, int, int)>(entries[ENABLE]);
	if (subscribe(&handle, before_upload, nullptr) || enable(1, handle, DOMAIN, BEFORE_UPLOAD))
		throw Error(ENOSYS,
			    "the driver refuses its callback before a launch (one subscriber at a time: a profiler?)");
}

// -- the probe

// Each block stays some 20 us, so that as many as fit are spread over all SMs, and notes where it was.
constexpr char PROBE[] = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry probe(.param .u64 out)
{
	.reg .pred %p<2>;
	.reg .b32 %r<3>;
	.reg .b64 %d<6>;
	mov.u64 %d0, %clock64;
WAIT:
	mov.u64 %d1, %clock64;
	sub.u64 %d2, %d1, %d0;
	setp.lt.u64 %p0, %d2, 40000;
	@%p0 bra WAIT;
	mov.u32 %r0, %tid.x;
	setp.ne.u32 %p1, %r0, 0;
	@%p1 bra END;
	ld.param.u64 %d3, [out];
	cvta.to.global.u64 %d3, %d3;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %smid;
	mul.wide.u32 %d4, %r1, 4;
	add.u64 %d5, %d3, %d4;
	st.global.u32 [%d5], %r2;
END:
	ret;
}
)";

class Probe {
public:
	Probe(const Cuda &cuda, unsigned sms) : cuda_(cuda), sms_(sms), where_(size_t{sms} * BLOCKS_PER_SM)
	{
		check(cuda_.load(&module_, PROBE), "loading the probe");
		int err = cuda_.function(&function_, module_, "probe");
		if (!err)
			err = cuda_.alloc(&memory_, where_.size() * sizeof(where_[0]));
		if (err)
			cuda_.unload(module_);
		check(err, "memory for the probe");
	}
	Probe(const Probe &) = delete;
	Probe &operator=(const Probe &) = delete;
	~Probe()
	{
		cuda_.free(memory_);
		cuda_.unload(module_);
	}

	// SMs that it ran on, with these bits of the mask set.
	std::set<unsigned> run(const std::optional<LaunchMask> &mask)
	{
		void *parameters[] = {&memory_};
		unsigned before = launches;

		next = mask;
		int err = cuda_.launch(function_, static_cast<unsigned>(where_.size()), 1, 1, 1024, 1, 1, 0, nullptr,
				       parameters, nullptr);
		next.reset();
		check(err, "launching the probe");
		check(cuda_.wait(), "running the probe");
		if (launches == before)
			throw Error(ENOSYS, "the driver does not call back before a launch");
		check(cuda_.copy(where_.data(), memory_, where_.size() * sizeof(where_[0])), "reading the probe");
		return {where_.begin(), where_.end()};
	}

	// Only one TPC at a time is disabled: a mask that means something else could leave none, and the GPU would hang.
	void verify(const Layout &layout)
	{
		std::set<unsigned> all = run(std::nullopt);
		unsigned per = sms_ / layout.map.tpcs;

		if (version != VERSION)
			throw Error(ENOSYS,
				    fmt::format("descriptors of launches have version {:#x} here; known is {:#x}",
						version.load(), VERSION));
		if (all.size() != sms_ || *all.rbegin() != sms_ - 1)
			throw Error(EIO, fmt::format("the probe ran on {} of {} SMs", all.size(), sms_));
		for (unsigned tpc = 0; tpc < layout.map.tpcs; tpc++) {
			LaunchMask one{};
			one[layout.launch_bits[tpc] / 64] = uint64_t{1} << layout.launch_bits[tpc] % 64;
			std::set<unsigned> expected = all, ran = run(one);
			for (unsigned sm = tpc * per; sm < (tpc + 1) * per; sm++)
				expected.erase(sm);
			if (ran == expected)
				continue;
			std::vector<unsigned> gone;
			std::set_difference(all.begin(), all.end(), ran.begin(), ran.end(), std::back_inserter(gone));
			throw Error(EIO,
				    fmt::format("bit {} of a launch's mask took SMs {} away, and not TPC {}'s",
						layout.launch_bits[tpc],
						gone.empty() ? "none" : fmt::format("{}", fmt::join(gone, ", ")), tpc));
		}
	}

private:
	static constexpr unsigned BLOCKS_PER_SM = 8;
	const Cuda &cuda_;
	unsigned sms_;
	std::vector<unsigned> where_;
	void *module_ = nullptr, *function_ = nullptr;
	uint64_t memory_ = 0;
};

tool::Gpu gpu_of_context(const Cuda &cuda)
{
	void *context = nullptr;
	char pci[32] = "";
	int device = 0;

	check(cuda.init(0), "cuInit");
	check(cuda.context(&context), "cuCtxGetCurrent");
	if (!context) {
		check(cuda.retain(&context, 0), "cuDevicePrimaryCtxRetain");
		check(cuda.set_context(context), "cuCtxSetCurrent");
	}
	check(cuda.device(&device), "cuCtxGetDevice");
	check(cuda.pci(pci, sizeof(pci), device), "cuDeviceGetPCIBusId");
	tool::SourceOptions options;
	options.from = tool::From::Rm;
	for (tool::Gpu &gpu : tool::load_gpus(options))
		if (strcasecmp(gpu.chip.device.c_str(), pci) == 0)
			return std::move(gpu);
	throw Error(ENODEV, fmt::format("NVIDIA's driver tells of no GPU at {}", pci));
}

} // namespace

void say_unpartitioned(const std::string &why)
{
	std::fprintf(stderr, "gpulens-partition: %s; the program ends, because it would run unpartitioned\n",
		     why.c_str());
}

Launches &Launches::the()
{
	static Launches one;
	return one;
}

const Layout &Launches::ready()
{
	static std::mutex lock;
	static Cuda cuda;
	std::lock_guard<std::mutex> hold(lock);

	if (failed_)
		throw *failed_;
	if (ready_)
		return layout_;
	try {
		cuda = load_cuda();
		tool::Gpu gpu = gpu_of_context(cuda);
		layout_ = layout_of_gpu(gpu);
		layout_.launch_mask(layout_.complement(TpcMask(layout_.map.tpcs))); // are all bits known?
		hook(cuda);
		Probe(cuda, static_cast<unsigned>(gpu.sms.size())).verify(layout_);
	} catch (const Error &e) {
		failed_ = e;
		throw;
	} catch (const tool::SourceError &e) {
		failed_ = Error(ENODEV, e.what());
		throw *failed_;
	}
	ready_ = true;
	return layout_;
}

void Launches::set_global(const TpcMask &enabled)
{
	LaunchMask mask = ready().launch_mask(enabled);
	std::lock_guard<std::mutex> hold(global_lock);

	global = mask;
}

void Launches::set_next(const TpcMask &enabled)
{
	next = ready().launch_mask(enabled);
}

} // namespace gpulens
