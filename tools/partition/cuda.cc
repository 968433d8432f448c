// SPDX-License-Identifier: GPL-2.0
// Loads CUDA's driver API, and implements the probe kernel.
#include "partition/cuda.hpp"

#include "lib/base/errors.hpp"
#include "lib/launch/symbol.hpp"
#include "lib/source/driver/driver_source.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace gpulens {

namespace {

template <typename F> void load_function(void *library, const char *name, F &function)
{
	if (!find_symbol(library, name, function))
		throw Error(Error::Missing, fmt::format("libcuda.so.1 has no {}", name));
}

Cuda load_cuda()
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	Cuda c{};

	if (!library)
		throw Error(Error::Source, fmt::format("cannot load CUDA: {}", dlerror()));
	c.library = library;
	load_function(library, "cuInit", c.init);
	load_function(library, "cuCtxGetCurrent", c.context);
	load_function(library, "cuCtxSetCurrent", c.set_context);
	load_function(library, "cuDevicePrimaryCtxRetain", c.retain);
	load_function(library, "cuCtxGetDevice", c.device);
	load_function(library, "cuDeviceGetByPCIBusId", c.by_pci);
	load_function(library, "cuDeviceGetPCIBusId", c.pci);
	load_function(library, "cuDeviceGetUuid", c.uuid);
	load_function(library, "cuDeviceGetAttribute", c.attribute);
	load_function(library, "cuModuleLoadData", c.load);
	load_function(library, "cuModuleUnload", c.unload);
	load_function(library, "cuModuleGetFunction", c.function);
	load_function(library, "cuMemAlloc_v2", c.alloc);
	load_function(library, "cuMemFree_v2", c.free);
	load_function(library, "cuMemcpyDtoH_v2", c.copy);
	load_function(library, "cuLaunchKernel", c.launch);
	load_function(library, "cuStreamCreate", c.make_stream);
	load_function(library, "cuStreamDestroy_v2", c.free_stream);
	load_function(library, "cuStreamSynchronize", c.wait);
	c.green = find_symbol(library, "cuDeviceGetDevResource", c.resource) &&
		  find_symbol(library, "cuDevSmResourceSplitByCount", c.split) &&
		  find_symbol(library, "cuDevResourceGenerateDesc", c.describe) &&
		  find_symbol(library, "cuGreenCtxCreate", c.make_green) &&
		  find_symbol(library, "cuGreenCtxDestroy", c.free_green) &&
		  find_symbol(library, "cuGreenCtxStreamCreate", c.green_stream);
	check(c.init(0), "cuInit");
	return c;
}

constexpr char PROBE_PTX[] = R"(.version 6.0
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

} // namespace

const Cuda &cuda()
{
	static const Cuda loaded = load_cuda();
	return loaded;
}

void check(int result, const char *call)
{
	if (result)
		throw Error(Error::Failed, fmt::format("{}: CUDA error {}", call, result));
}

void make_current(int device)
{
	void *context = nullptr;

	check(cuda().retain(&context, device), "cuDevicePrimaryCtxRetain");
	check(cuda().set_context(context), "cuCtxSetCurrent");
}

static KnownGpu gpu_at(const char *pci, int device)
{
	constexpr int SMS = 16;                          // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
	tool::Gpu gpu = tool::DriverSource::gpu_at(pci); // a container may deny access to other GPUs
	int sms = 0;

	if (gpu.sms.empty()) {
		check(cuda().attribute(&sms, SMS, device), "cuDeviceGetAttribute");
		Layout unknown{.map = {.tpcs = 0, .gpcs{}, .numbering = tool::plan::TpcNumbering::BySmid},
			       .device = gpu.chip.device};
		return {.pci = pci, .driver = gpu.chip.driver, .layout = unknown, .sms = static_cast<unsigned>(sms)};
	}
	return {.pci = pci,
		.driver = gpu.chip.driver,
		.layout = layout_of_gpu(gpu),
		.sms = static_cast<unsigned>(gpu.sms.size())};
}

int device_of_context()
{
	void *context = nullptr;
	int device = 0;

	check(cuda().context(&context), "cuCtxGetCurrent");
	if (!context)
		make_current(0);
	check(cuda().device(&device), "cuCtxGetDevice");
	return device;
}

KnownGpu gpu_of_device(int device)
{
	char pci[32] = "";

	check(cuda().pci(pci, sizeof(pci), device), "cuDeviceGetPCIBusId");
	return gpu_at(pci, device);
}

GpuUuid uuid_of_device(int device)
{
	GpuUuid uuid{};

	check(cuda().uuid(reinterpret_cast<unsigned char(*)[16]>(uuid.data()), device), "cuDeviceGetUuid");
	return uuid;
}

unsigned capability_of_device(int device)
{
	constexpr int MAJOR = 75, MINOR = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
	int major = 0, minor = 0;

	if (cuda().attribute(&major, MAJOR, device) || cuda().attribute(&minor, MINOR, device) || major < 0 ||
	    minor < 0)
		return 0;
	return static_cast<unsigned>(major * 10 + minor);
}

bool has_cooperative_launches(int device)
{
	constexpr int COOPERATIVE_LAUNCH = 95; // CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH
	int supported = 0;

	return cuda().attribute(&supported, COOPERATIVE_LAUNCH, device) || supported;
}

bool is_under_mps(int device)
{
	constexpr int MPS_ENABLED = 133; // CU_DEVICE_ATTRIBUTE_MPS_ENABLED; older drivers return an error
	int mps = 0;

	return !cuda().attribute(&mps, MPS_ENABLED, device) && mps;
}

void check_smid_is_physical(int device)
{
	if (is_under_mps(device))
		throw Error(Error::Unsupported,
			    "under MPS, %smid is not the physical SM number, so partitions cannot be verified");
}

Probe::Probe(unsigned sms) : cuda_(cuda()), smids_(size_t{sms} * BLOCKS_PER_SM)
{
	check(cuda_.load(&module_, PROBE_PTX), "loading the probe");
	int err = cuda_.function(&function_, module_, "probe");
	if (!err)
		err = cuda_.alloc(&memory_, smids_.size() * sizeof(smids_[0]));
	if (err)
		cuda_.unload(module_);
	check(err, "memory for the probe");
}

Probe::~Probe()
{
	cuda_.free(memory_);
	cuda_.unload(module_);
}

std::set<unsigned> Probe::run(void *stream)
{
	void *parameters[] = {&memory_};

	check(cuda_.launch(function_, static_cast<unsigned>(smids_.size()), 1, 1, 1024, 1, 1, 0, stream, parameters,
			   nullptr),
	      "launching the probe");
	check(cuda_.wait(stream), "running the probe");
	check(cuda_.copy(smids_.data(), memory_, smids_.size() * sizeof(smids_[0])), "reading the probe");
	return {smids_.begin(), smids_.end()};
}

} // namespace gpulens
