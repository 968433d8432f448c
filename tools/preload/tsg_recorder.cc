// SPDX-License-Identifier: GPL-2.0
// libgpulens-run.so, which gpulens run preloads. It observes the program's requests for channel groups (TSGs) and channels to
// NVIDIA's driver, changes none, and asks the driver for the resulting IDs. Each change of a TSG becomes a line of
// GPULENS_RUN_FILE (lib/rm/run_tsg.hpp). Inside other people's programs: no exceptions, no streams.
#include "lib/launch/environment.hpp"
#include "lib/rm/abi.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <string_view>
#include <unistd.h>

namespace {

using namespace tool::rm;

constexpr u32 MAX_GROUPS = 256, MAX_DEVICES = 64,
	      MAX_CHANNELS = 128; // NV2080_CTRL_FIFO_INFO_INDEX_MAX_CHANNELS_PER_GROUP is 128 on GH100

struct Group {
	u32 client = 0, handle = 0; // both 0: free
	u32 device = 0, engine = 0; // NV2080_ENGINE_TYPE_*
	u32 count = 0, channels[MAX_CHANNELS] = {};
	size_t line_hash = 0; // of its last line
};

struct Device {
	u32 client = 0, handle = 0;      // both 0: free
	u32 instance = 0, subdevice = 0; // subdevice 0: none; engines are queried through it
};

std::mutex lock;
Group groups[MAX_GROUPS];
Device devices[MAX_DEVICES];

int real_ioctl(int fd, unsigned long request, void *arg)
{
	static auto real = reinterpret_cast<int (*)(int, unsigned long, ...)>(dlsym(RTLD_NEXT, "ioctl"));

	return real(fd, request, arg);
}

template <typename T, size_t N> T *find(T (&all)[N], u32 client, u32 handle)
{
	for (T &object : all)
		if (object.handle == handle && object.client == client)
			return &object;
	return nullptr;
}

Group *group_of(u32 client, u32 channel)
{
	for (Group &g : groups)
		for (u32 i = 0; i < g.count; i++)
			if (g.client == client && g.channels[i] == channel)
				return &g;
	return nullptr;
}

template <typename Params> bool query(int fd, u32 client, u32 object, Params &params)
{
	Control c{.client = client,
		  .object = object,
		  .cmd = Params::CMD,
		  .params = reinterpret_cast<uintptr_t>(&params),
		  .params_size = sizeof(params)};

	return !real_ioctl(fd, _IOWR(NV_IOCTL_MAGIC, NV_ESC_RM_CONTROL, Control), &c) && c.status == NV_OK;
}

// JSON of the preemption modes of the group's contexts; "null" where unknown, as for copy engines: the driver reports WFI
// for all of those.
void format_preemption(int fd, const Group &g, char (&text)[64])
{
	static const char *const compute[] = {"WFI", "CTA", "CILP"}, *const graphics[] = {"WFI", "GFXP", "GFXP_POOL"};
	CtxswModes modes{.channel = g.channels[0]};

	snprintf(text, sizeof(text), "null");
	if (!g.count || g.engine < NV2080_ENGINE_TYPE_GR0 || g.engine > NV2080_ENGINE_TYPE_GR7)
		return;
	const Device *d = find(devices, g.client, g.device);
	if (d && d->subdevice && query(fd, g.client, d->subdevice, modes) && modes.compute < 3 && modes.graphics < 3)
		snprintf(text, sizeof(text), "{\"compute\": \"%s\", \"graphics\": \"%s\"}", compute[modes.compute],
			 graphics[modes.graphics]);
}

void write_line(int fd, Group &g)
{
	const char *path = getenv(gpulens::environment::RUN_FILE);
	u32 ids[MAX_CHANNELS];
	GroupInfo info;
	GroupTimeslice slice;
	ChannelList list{.count = g.count,
			 .handles = reinterpret_cast<uintptr_t>(g.channels),
			 .ids = reinterpret_cast<uintptr_t>(ids)};
	char line[320 + 11 * MAX_CHANNELS], modes[64];
	int n;

	if (!path || !query(fd, g.client, g.handle, info))
		return;
	const Device *d = find(devices, g.client, g.device);
	n = snprintf(line, sizeof(line),
		     "{\"pid\": %d, \"device\": %u, \"tsg\": %u, \"engine\": %u, \"timeslice_us\": ", getpid(),
		     d ? d->instance : 0, info.tsg, g.engine);
	if (query(fd, g.client, g.handle, slice))
		n += snprintf(line + n, sizeof(line) - n, "%llu", static_cast<unsigned long long>(slice.us));
	else
		n += snprintf(line + n, sizeof(line) - n, "null");
	format_preemption(fd, g, modes);
	n += snprintf(line + n, sizeof(line) - n, ", \"preemption\": %s, \"channels\": [", modes);
	if (g.count && query(fd, g.client, g.device, list))
		for (u32 i = 0; i < g.count; i++)
			n += snprintf(line + n, sizeof(line) - n, "%s%u", i ? ", " : "", ids[i]);
	n += snprintf(line + n, sizeof(line) - n, "]}\n");
	size_t hash = std::hash<std::string_view>{}({line, static_cast<size_t>(n)});
	if (hash == g.line_hash)
		return;
	g.line_hash = hash;
	// The file exists: gpulens run has made it. After its end another user could put a link there, so links are followed below
	// /proc only, where gpulens run passes its own descriptor.
	int out = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (strncmp(path, "/proc/", 6) ? O_NOFOLLOW : 0));
	if (out < 0)
		return;
	// A single write, so that lines of several processes do not mix.
	if (write(out, line, static_cast<size_t>(n)) != n)
		perror("gpulens run");
	close(out);
}

// The driver's interface has pointers as numbers.
template <typename T> const T *pointer_of(u64 address)
{
	return reinterpret_cast<const T *>(address); // NOLINT(performance-no-int-to-ptr)
}

template <typename Params> void record_allocation(int fd, const Params &a)
{
	if (a.cls == NV01_DEVICE_0) {
		if (Device *d = find(devices, 0, 0))
			*d = {.client = a.root,
			      .handle = a.object,
			      .instance = a.params ? pointer_of<DeviceAlloc>(a.params)->device_id : 0};
	} else if (a.cls == NV20_SUBDEVICE_0) {
		if (Device *d = find(devices, a.root, a.parent))
			d->subdevice = a.object;
	} else if (a.cls == KEPLER_CHANNEL_GROUP_A) {
		if (Group *g = find(groups, 0, 0))
			*g = {.client = a.root,
			      .handle = a.object,
			      .device = a.parent,
			      .engine = a.params ? pointer_of<GroupAlloc>(a.params)->engine : 0};
	} else if ((a.cls & 0xff) == 0x6f) {
		Group *g = find(groups, a.root, a.parent);
		if (!g || g->count == MAX_CHANNELS)
			return;
		g->channels[g->count++] = a.object;
		write_line(fd, *g);
	} else if (Group *g = group_of(a.root, a.parent)) {
		write_line(fd, *g); // an engine's object sets the channel's preemption modes
	}
}

// Freeing a device frees what is below it. No line is written: a program that ends frees everything.
void record_free(u32 client, u32 object)
{
	for (Group &g : groups) {
		if (g.client == client && (g.handle == object || g.device == object || object == client))
			g = {};
		else if (g.client == client)
			g.count = static_cast<u32>(std::remove(g.channels, g.channels + g.count, object) - g.channels);
	}
	for (Device &d : devices) {
		if (d.client == client && (d.handle == object || object == client))
			d = {};
		else if (d.client == client && d.subdevice == object)
			d.subdevice = 0;
	}
}

// The parameters of a request of that kind and size that the driver granted; else nullptr.
template <typename Params> const Params *granted_params(unsigned nr, unsigned long request, const void *arg)
{
	const Params *p = static_cast<const Params *>(arg);

	return _IOC_NR(request) == nr && _IOC_SIZE(request) == sizeof(Params) && p->status == NV_OK ? p : nullptr;
}

void record_request(int fd, unsigned long request, const void *arg)
{
	if (_IOC_TYPE(request) != NV_IOCTL_MAGIC)
		return;
	std::lock_guard<std::mutex> hold(lock);
	if (const Alloc *a = granted_params<Alloc>(NV_ESC_RM_ALLOC, request, arg))
		record_allocation(fd, *a);
	if (const AllocWithRights *a = granted_params<AllocWithRights>(NV_ESC_RM_ALLOC, request, arg))
		record_allocation(fd, *a);
	const Control *c = granted_params<Control>(NV_ESC_RM_CONTROL, request, arg);
	Group *g = c && c->cmd >> 16 == KEPLER_CHANNEL_GROUP_A ? find(groups, c->client, c->object) : nullptr;
	if (g)
		write_line(fd, *g); // scheduled, or its time slice was set
	if (const Free *f = granted_params<Free>(NV_ESC_RM_FREE, request, arg))
		record_free(f->root, f->object);
}

} // namespace

extern "C" int ioctl(int fd, unsigned long request, ...)
{
	va_list more;

	va_start(more, request);
	void *arg = va_arg(more, void *);
	va_end(more);
	int ret = real_ioctl(fd, request, arg);
	int err = errno;
	if (!ret && arg)
		record_request(fd, request, arg);
	errno = err;
	return ret;
}
