// SPDX-License-Identifier: GPL-2.0
// A libcuda.so.1 for tests on machines without a GPU: an H200 whose launches call the callback that RTAS'23 describes
// and whose masks have the bits that were probed (probed.hpp). It shares no code with tools/partition/: offsets are
// written here a second time.
//
//	FAKE_CUDA_VERSION=65  version of launch descriptors, decimal: 16 * major + minor; 64 is 4.0. Others than 4.0 have
//	                      bits that are made up, and not those of an H200
//	FAKE_CUDA_CAPABILITY=89  compute capability, 10 * major + minor; default 90, 0: CUDA does not report it
//	FAKE_CUDA_TPCS=40     the GPU has only so many TPCs of two SMs
//	FAKE_CUDA_SINGLE=1    each SM has a bit of its own
//	FAKE_CUDA_EXTRA=58:80 byte 58 of descriptors is 80
//	FAKE_CUDA_TWICE=5     SM 5 is disabled by the bit of SM 0, too
//	FAKE_CUDA_NO_BIT=5    no bit disables SM 5
//	FAKE_CUDA_ACROSS=1    a bit disables the last SM of a TPC and the first one of the next
//	FAKE_CUDA_FLAKY=N     from the Nth launch of the process on, each SM has the bit after its own
//	FAKE_CUDA_ALONE=1     of the bits set in a word only the lowest has an effect
//	FAKE_CUDA_LOG=FILE    gets a byte for each launch
//	FAKE_CUDA_BUS=03      PCI bus of the GPU; default 01
//	FAKE_CUDA_SECOND=1    the GPU is CUDA's device 1; device 0 is a GPU that NVIDIA's driver does not report
//	FAKE_CUDA_SHIFT=1     each TPC has the bit after its own in a mask
//	FAKE_CUDA_DEAF=1      no callback is made
//	FAKE_CUDA_BUSY=1      the callback has a subscriber
//	FAKE_CUDA_NO_TABLE=1  there is no such export table
//	FAKE_CUDA_DIES=1      cuInit() ends the process
//	FAKE_CUDA_MPS=N       contexts are shared by MPS, with N of a client's SMs or all (1), unless CUDA_MPS_PIPE_DIRECTORY
//	                      names what is no folder; %smid counts the SMs that a launch has, as on an H200
//	FAKE_CUDA_NOWHERE=1   the callback gets no context
//	FAKE_CUDA_ROAM=1      each launch of a stream has its descriptor at another address
//	FAKE_CUDA_FAR=1       the object of a stream does not point to its descriptor
//	FAKE_CUDA_LEAK=SM     from the third launch in a stream on, masks do not keep blocks from that SM
//	FAKE_CUDA_FEW=14      the GPU has only so many SMs, like a part of a divided GPU
//	FAKE_CUDA_REUSE=1     a new stream gets the address of the stream that was destroyed last
//	FAKE_CUDA_TYPE=3      type of launch descriptors; 1, or 2 for cooperative launches
//	FAKE_CUDA_CLUSTERS=1  cooperative launches are launches of clusters
//	FAKE_CUDA_WIDE=1      green contexts have only groups of 4 TPCs
//	FAKE_CUDA_SPLIT=915   error of the call that splits SMs into groups
//	FAKE_CUDA_GREEN=N     error of the call that makes a green context
//	FAKE_CUDA_SPILL=1     a green context of several groups has SM 131, too
#include "fake_calls.hpp"
#include "fake_work.hpp"
#include "probed.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using Callback = void (*)(void *, int, int, const void *);

Callback callback;
bool enabled;

// A pointer to device memory, which CUDA passes as a number.
void *to_pointer(uint64_t where)
{
	return reinterpret_cast<void *>(where); // NOLINT(performance-no-int-to-ptr)
}

bool is_set(const char *name)
{
	return getenv(name) != nullptr;
}

int subscribe_callback(uint32_t *handle, Callback to, void *)
{
	if (is_set("FAKE_CUDA_BUSY"))
		return 999;
	*handle = 1;
	callback = to;
	return 0;
}

int enable_callback(uint32_t on, uint32_t handle, int domain, int id)
{
	enabled = on && handle == 1 && domain == 0xb && id == 1;
	return 0;
}

// Bytes of a descriptor, as bit numbers of open-gpu-doc's classes/compute/cl*qmd.h, divided by 8.
struct Format {
	int version; // 16 * major + minor
	size_t version_at, mask_at;
	uint32_t bits;
	size_t valid_at;    // the word of bit 31 VALID, of the type and, with 23, of clusters; 0xffff: none
	size_t cooperative; // grid
	size_t cluster;     // blocks of a cluster
};
constexpr size_t NONE = 0xffff;
constexpr Format FORMATS[] = {
	{0x16, 72, 84, 64, NONE, NONE, NONE}, // cla0c0qmd.h: QMD_MAJOR_VERSION 583:580, SM_DISABLE_MASK_LOWER 703:672
	{0x17, 72, 84, 64, NONE, NONE, NONE}, // cla0c0qmd.h
	{0x20, 72, 84, 64, NONE, NONE, NONE}, // clc0c0qmd.h
	{0x21, 72, 84, 64, NONE, NONE, NONE}, // clc0c0qmd.h
	{0x22, 72, 84, 64, NONE, NONE, NONE}, // clc3c0qmd.h
	{0x23, 72, 84, 64, NONE, NONE, NONE}, // clc5c0qmd.h
	{0x24, 72, 84, 64, NONE, NONE, NONE}, // clc6c0qmd.h
	{0x30, 72, 84, 64, NONE, NONE, NONE}, // clc6c0qmd.h; clc9c0qmd.h has 8 more bits, at 377:372 and 380:379
	// clcbc0qmd.h: TPC_DISABLE_MASK(i) from 2432, VALID 31:31, GPU_CGA_WIDTH 2223:2208, GPC_CGA_WIDTH 2149:2144
	{0x40, 72, 304, 128, 0, 276, 268},
	{0x41, 72, 304, 128, 0, 276, 268}, // clcdc0qmd.h
	// clcdc0qmd.h: QMD_MAJOR_VERSION 471:468, mask from 2240, 159:159, 2127:2112, 2053:2048
	{0x50, 58, 280, 128, 16, 264, 256},
};

int read_number(const char *name, int otherwise)
{
	return is_set(name) ? atoi(getenv(name)) : otherwise;
}

int read_version()
{
	return read_number("FAKE_CUDA_VERSION", 0x40);
}

// The format of this version; of a version that has none: 4.0's.
const Format &find_format()
{
	for (const Format &row : FORMATS)
		if (row.version == read_version())
			return row;
	return FORMATS[8];
}

// Ada has 72 bits in descriptors of version 3.0.
uint32_t count_bits()
{
	return read_version() == 0x30 && read_number("FAKE_CUDA_CAPABILITY", 90) == 89 ? 72 : find_format().bits;
}

uint32_t all_tpcs()
{
	return static_cast<uint32_t>(read_number("FAKE_CUDA_TPCS", 66));
}

std::atomic<unsigned> launched; // by the process

// The bit that disables an SM.
uint32_t bit_of(uint32_t sm)
{
	uint32_t shift = is_set("FAKE_CUDA_SHIFT") ? 1 : 0, unit = sm / 2;

	if (is_set("FAKE_CUDA_FLAKY") && launched >= static_cast<unsigned>(read_number("FAKE_CUDA_FLAKY", 0)))
		shift++;
	if (is_set("FAKE_CUDA_ACROSS"))
		unit = (sm + 1) / 2;
	if (is_set("FAKE_CUDA_SINGLE"))
		unit = sm;
	return read_version() == 0x40 ? PROBED[unit].bit + shift : (29 * unit + 7 + shift) % count_bits();
}

bool is_disabled(uint32_t bit, const unsigned char *descriptor)
{
	uint32_t word, at = bit / 32 * 4, place = bit % 32;
	bool only = is_set("FAKE_CUDA_ALONE");

	memcpy(&word, descriptor + find_format().mask_at + at, 4);
	if (count_bits() == 72 && bit >= 64) {
		memcpy(&word, descriptor + 44, 4);
		place = bit < 70 ? 20 + bit - 64 : 27 + bit - 70;
	}
	return only ? (word & ((2U << place) - 1)) == 1U << place : word >> place & 1;
}

// The SMs that the descriptor's mask allows.
std::vector<uint32_t> allowed_sms(const unsigned char *descriptor)
{
	std::vector<uint32_t> sms;
	uint32_t flags = 0x80000000;

	if (find_format().valid_at != NONE)
		memcpy(&flags, descriptor + find_format().valid_at, 4);
	for (uint32_t sm = 0; sm < 2 * all_tpcs(); sm++)
		if (!(flags >> 31) ||
		    (is_set("FAKE_CUDA_NO_BIT") && sm == static_cast<uint32_t>(read_number("FAKE_CUDA_NO_BIT", 0))) ||
		    (!is_disabled(bit_of(sm), descriptor) &&
		     !(static_cast<int>(sm) == read_number("FAKE_CUDA_TWICE", -1) &&
		       is_disabled(bit_of(0), descriptor))))
			sms.push_back(sm);
	if (is_set("FAKE_CUDA_FEW"))
		sms.resize(static_cast<size_t>(atoi(getenv("FAKE_CUDA_FEW"))));
	return sms;
}

// As in driver 580, the handle points to the address of an object, which points to the descriptor of its launches.
struct Object {
	unsigned char before[992];
	unsigned char *descriptor;
	unsigned char after[520];
};

struct Descriptor {
	unsigned char bytes[384];
};

struct Stream {
	Object *object;
	std::vector<uint32_t> sms; // of its green context; empty: all
	Descriptor *descriptors;
	unsigned launches;
	void *context;
	Queue queue;
};

void *current; // context
Stream *idle;  // the stream that was destroyed last

Stream *make_stream(const std::vector<uint32_t> &sms)
{
	Stream *stream = new Stream{new Object(), sms, new Descriptor[2](), 0, current, {}};

	if (!is_set("FAKE_CUDA_FAR"))
		stream->object->descriptor = stream->descriptors[0].bytes;
	return stream;
}

Stream *find_stream(void *handle)
{
	static Stream *null_stream = make_stream({});
	return reinterpret_cast<uintptr_t>(handle) < 3 ? null_stream : static_cast<Stream *>(handle);
}

unsigned char *descriptor_of(Stream *stream)
{
	return stream->descriptors[is_set("FAKE_CUDA_ROAM") ? stream->launches % 2 : 0].bytes;
}

// A CUdevResource: 144 bytes, with the type, and the number of SMs at 96; here also the first TPC and their number.
struct Resource {
	uint32_t type, first, tpcs;
	unsigned char padding[84];
	uint32_t sms, least, alignment;
	unsigned char rest[36];
};
static_assert(sizeof(Resource) == 144);

// TPCs of a group: 4 with FAKE_CUDA_WIDE and for clusters, otherwise 1.
uint32_t group_of(unsigned flags)
{
	return flags & 1 && !is_set("FAKE_CUDA_WIDE") ? 1 : 4;
}

} // namespace

Queue &queue_of(void *stream)
{
	return find_stream(stream)->queue;
}

extern "C" {

int cuInit(unsigned)
{
	if (is_set("FAKE_CUDA_DIES"))
		abort();
	return 0;
}

int cuCtxGetCurrent(void **to)
{
	*to = current;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	current = context;
	return 0;
}

// A context is the address of its device's element.
static char contexts[2];

static std::vector<void *> pushed;

int cuCtxPushCurrent_v2(void *context)
{
	if (context < contexts || context >= contexts + 2)
		abort(); // as the real library may
	pushed.push_back(current);
	current = context;
	return 0;
}

int cuCtxPopCurrent_v2(void **was)
{
	*was = current;
	current = pushed.back();
	pushed.pop_back();
	return 0;
}

int cuDevicePrimaryCtxRetain(void **to, int device)
{
	*to = &contexts[device];
	return 0;
}

int cuCtxGetDevice(int *device)
{
	*device = current == &contexts[1];
	return current ? 0 : 201;
}

int cuDeviceGetByPCIBusId(int *device, const char *pci)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	*device = is_set("FAKE_CUDA_SECOND");
	if (visible && atoi(visible) > *device)
		return 101;
	return strncmp(pci + 5, is_set("FAKE_CUDA_BUS") ? getenv("FAKE_CUDA_BUS") : "01", 2) ? 101 : 0;
}

int cuDeviceGetAttribute(int *to, int which, int)
{
	int capability = read_number("FAKE_CUDA_CAPABILITY", 90);

	// CUDA has cooperative launches from Pascal on.
	*to = which == 75    ? capability / 10
	      : which == 76  ? capability % 10
	      : which == 95  ? capability >= 60
	      : which == 16  ? 2 * static_cast<int>(all_tpcs())
	      : which == 39  ? 2048
	      : which == 40  ? 3
	      : which == 97  ? 232448
	      : which == 106 ? 32
			     : is_under_mps();
	return which == 133 || which == 16 || which == 39 || which == 40 || which == 97 || which == 106 ||
			       (capability && (which == 75 || which == 76 || which == 95))
		       ? 0
		       : 1;
}

// If CUDA_VISIBLE_DEVICES is a UUID, the H200 is device 0; if it is a number, devices are counted from there on. UUIDs of
// other devices end with their number.
int cuDeviceGetUuid(unsigned char (*to)[16], int device)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int number = device + (visible ? atoi(visible) : 0);

	for (unsigned i = 0; i < 16; i++)
		(*to)[i] = static_cast<unsigned char>(0x11 * i);
	if (visible && !strncmp(visible, "GPU-", 4) ? device : number != is_set("FAKE_CUDA_SECOND"))
		(*to)[15] = static_cast<unsigned char>(number);
	return 0;
}

int cuStreamCreate(void **stream, unsigned)
{
	static std::atomic<unsigned> streams;
	BlockingCall call(__func__);

	Stream *made = idle ? idle : make_stream({});
	made->queue.number = streams++;
	*stream = made;
	idle = nullptr;
	return 0;
}

int cuStreamDestroy_v2(void *stream)
{
	Stream *s = static_cast<Stream *>(stream);
	if (is_set("FAKE_CUDA_REUSE")) {
		idle = s;
		return 0;
	}
	delete s->object;
	delete[] s->descriptors;
	delete s;
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	finish_work(queue_of(stream));
	return 0;
}

int cuDeviceGetPCIBusId(char *to, int room, int device)
{
	if (is_set("FAKE_CUDA_SECOND") && !device)
		return snprintf(to, static_cast<size_t>(room), "0000:00:00.0") < 0;
	snprintf(to, static_cast<size_t>(room), "0000:%s:00.0",
		 is_set("FAKE_CUDA_BUS") ? getenv("FAKE_CUDA_BUS") : "01");
	return 0;
}

int cuGetExportTable(const void **to, const void *uuid)
{
	static const unsigned char id[] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
					   0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
	static void *table[12] = {to_pointer(sizeof(table)),
				  nullptr,
				  nullptr,
				  reinterpret_cast<void *>(subscribe_callback),
				  nullptr,
				  nullptr,
				  reinterpret_cast<void *>(enable_callback)};

	*to = table;
	return is_set("FAKE_CUDA_NO_TABLE") || memcmp(uuid, id, sizeof(id)) ? 500 : 0;
}

int cuDeviceGetDevResource(int, Resource *to, unsigned type)
{
	*to = {.type = type, .first = 0, .tpcs = 66, .padding = {}, .sms = 132, .least = 8, .alignment = 8, .rest = {}};
	return type == 1 ? 0 : 1;
}

int cuDevSmResourceSplitByCount(Resource *groups, unsigned *count, const Resource *of, Resource *rest, unsigned flags,
				unsigned)
{
	uint32_t each = group_of(flags), most = of->tpcs / each;

	if (!groups || *count > most)
		*count = most;
	for (uint32_t i = 0; i < *count; i++) {
		Resource group = *of;
		group.first = i * each;
		group.tpcs = each;
		group.sms = 2 * each;
		if (groups)
			groups[i] = group;
	}
	*rest = *of;
	rest->first = *count * each;
	rest->tpcs = of->tpcs - rest->first;
	rest->sms = 2 * rest->tpcs;
	return is_set("FAKE_CUDA_SPLIT") ? atoi(getenv("FAKE_CUDA_SPLIT")) : 0;
}

int cuDevResourceGenerateDesc(void **to, const Resource *resources, unsigned count)
{
	auto *sms = new std::vector<uint32_t>;
	for (unsigned i = 0; i < count; i++)
		for (uint32_t sm = 2 * resources[i].first; sm < 2 * (resources[i].first + resources[i].tpcs); sm++)
			sms->push_back(sm);
	if (is_set("FAKE_CUDA_SPILL") && count > 1)
		sms->push_back(131);
	*to = sms;
	return 0;
}

// Fails in a process that has subscribed to the callback.
int cuGreenCtxCreate(void **green, void *description, int, unsigned)
{
	*green = description;
	return callback ? 801 : is_set("FAKE_CUDA_GREEN") ? atoi(getenv("FAKE_CUDA_GREEN")) : 0;
}

int cuGreenCtxDestroy(void *)
{
	return 0;
}

int cuGreenCtxStreamCreate(void **stream, void *green, unsigned, int)
{
	*stream = make_stream(*static_cast<std::vector<uint32_t> *>(green));
	return 0;
}

int cuModuleLoadData(void **module, const void *)
{
	*module = &enabled;
	return 0;
}

int cuModuleUnload(void *)
{
	return 0;
}

int cuModuleGetFunction(void **function, void *, const char *name)
{
	*function = find_kernel(name) ? find_kernel(name) : &enabled;
	return 0;
}

// As seen on an H100 (docs/results/2026-11-26-h100-clusters.md): the blocks of a cluster are on different SMs of one virtual
// GPC, and a launch whose clusters fit in none waits for ever.
static bool fits_cluster(const std::vector<uint32_t> &sms, unsigned cluster)
{
	unsigned in_gpc[32] = {};

	return cluster < 2 || std::any_of(sms.begin(), sms.end(),
					  [&](uint32_t sm) { return ++in_gpc[PROBED[sm / 2].virtual_gpc] == cluster; });
}

static constexpr unsigned NO_CLUSTER[3] = {1, 1, 1};

// cluster: blocks of a cluster in each direction.
static int launch_kernel(void *function, unsigned blocks, bool cooperative, const unsigned cluster[3], void *handle,
			 void **parameters)
{
	Stream *stream = find_stream(handle);
	unsigned char *descriptor = descriptor_of(stream);
	void *context = stream == find_stream(nullptr) ? current ? current : contexts : stream->context;
	uint64_t in[11] = {sizeof(in), reinterpret_cast<uint64_t>(is_set("FAKE_CUDA_NOWHERE") ? nullptr : context), 0,
			   0, reinterpret_cast<uint64_t>(descriptor)};
	uint32_t *where = *static_cast<uint32_t **>(parameters[0]);

	wait_for_other_threads();
	BlockingCall call(handle ? "launch" : "legacy");
	stream->launches++;
	launched++;
	memset(descriptor, 0, 384);
	uint32_t flags = (cooperative ? 0x12080000 : 0x113f0000) & ~0x00800000U;
	if (cluster[0] * cluster[1] * cluster[2] > 1 || (cooperative && is_set("FAKE_CUDA_CLUSTERS")))
		flags |= 0x00800000;
	flags = is_set("FAKE_CUDA_TYPE")
			? (flags & 0xf0ffffff) | static_cast<uint32_t>(atoi(getenv("FAKE_CUDA_TYPE"))) << 24
			: flags;
	uint16_t grid[3] = {static_cast<uint16_t>(blocks), 1, 1};
	if (find_format().valid_at != NONE)
		memcpy(descriptor + find_format().valid_at, &flags, 4);
	if (cooperative && find_format().cooperative != NONE)
		memcpy(descriptor + find_format().cooperative, grid, sizeof(grid));
	for (size_t axis = 0; axis < 3 && find_format().cluster != NONE; axis++)
		descriptor[find_format().cluster + axis] = static_cast<unsigned char>(cluster[axis]);
	descriptor[find_format().version_at] = static_cast<unsigned char>(read_version());
	if (is_set("FAKE_CUDA_EXTRA"))
		descriptor[read_number("FAKE_CUDA_EXTRA", 0)] =
			static_cast<unsigned char>(atoi(strchr(getenv("FAKE_CUDA_EXTRA"), ':') + 1));
	if (enabled && !is_set("FAKE_CUDA_DEAF"))
		callback(nullptr, 0xb, 1, in);
	if (is_set("FAKE_CUDA_LOG"))
		if (FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a")) {
			fputc('.', log);
			fclose(log);
		}
	std::vector<uint32_t> sms;
	for (uint32_t sm : allowed_sms(descriptor))
		if (stream->sms.empty() || std::find(stream->sms.begin(), stream->sms.end(), sm) != stream->sms.end())
			sms.push_back(sm);
	if (is_set("FAKE_CUDA_LEAK") && handle && stream->launches > 2)
		sms.push_back(static_cast<uint32_t>(atoi(getenv("FAKE_CUDA_LEAK"))));
	if (int most = read_number("FAKE_CUDA_MPS", 1); is_under_mps() && most > 1)
		sms.resize(std::min(sms.size(), static_cast<size_t>(most)));
	if (sms.empty()) {
		fprintf(stderr, "fake_cuda: no SM is left: the GPU hangs\n");
		abort();
	}
	if (!fits_cluster(sms, cluster[0] * cluster[1] * cluster[2])) {
		fprintf(stderr, "fake_cuda: no GPC holds a cluster: the launch waits for ever\n");
		abort();
	}
	if (run_kernel(function, stream->queue, blocks, sms, parameters)) {
		note_kernel(stream->queue.until, !handle);
		return 0;
	}
	for (unsigned i = 0; i < blocks; i++)
		where[i] = is_under_mps() ? static_cast<uint32_t>(i % sms.size()) : sms[i % sms.size()];
	return 0;
}

// Block n goes to the next allowed SM; without any it would wait forever.
int cuLaunchKernel(void *function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		   void *handle, void **parameters, void **)
{
	return launch_kernel(function, blocks, false, NO_CLUSTER, handle, parameters);
}

// CUlaunchConfig and CUlaunchAttribute of CUDA 12's cuda.h; of the attributes: CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.
struct LaunchAttribute {
	int id, unused;
	unsigned value[16];
};

struct LaunchConfig {
	unsigned grid[3], block[3], shared_bytes;
	void *stream;
	const LaunchAttribute *attributes;
	unsigned count;
};

int cuLaunchKernelEx(const LaunchConfig *config, void *function, void **parameters, void **)
{
	constexpr int CLUSTER_DIMENSION = 4;
	const unsigned *cluster = NO_CLUSTER;

	for (unsigned i = 0; i < config->count; i++)
		if (config->attributes[i].id == CLUSTER_DIMENSION)
			cluster = config->attributes[i].value;
	return launch_kernel(function, config->grid[0] * config->grid[1] * config->grid[2], false, cluster,
			     config->stream, parameters);
}

int cuLaunchCooperativeKernel(void *function, unsigned blocks, unsigned, unsigned, unsigned, unsigned, unsigned,
			      unsigned, void *handle, void **parameters)
{
	return launch_kernel(function, blocks, true, NO_CLUSTER, handle, parameters);
}
}
