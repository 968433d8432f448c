// SPDX-License-Identifier: GPL-2.0
// Preloaded by gpulens run: looks on as a program asks NVIDIA's driver for channel groups (TSGs) and channels, and asks
// the driver, as that program, what they became. Nothing that the program asks is changed. Each line of GPULENS_RUN_FILE
// is a TSG as it is then; see lib/rm/run_tsg.hpp. This runs inside other people's programs: no exceptions, no streams.
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
	size_t told = 0; // hash of its last line
};

struct Device {
	u32 client = 0, handle = 0;      // both 0: free
	u32 instance = 0, subdevice = 0; // the latter is asked about what only engines have; 0: none
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
	for (T &one : all)
		if (one.handle == handle && one.client == client)
			return &one;
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

template <typename Params> bool ask(int fd, u32 client, u32 object, Params &params)
{
	Control c{.client = client,
		  .object = object,
		  .cmd = Params::CMD,
		  .params = reinterpret_cast<uintptr_t>(&params),
		  .params_size = sizeof(params)};

	return !real_ioctl(fd, _IOWR(NV_IOCTL_MAGIC, NV_ESC_RM_CONTROL, Control), &c) && c.status == NV_OK;
}

// "null", or how a context of the group makes room on its engine. Of copy engines the driver says WFI, whatever they do.
void preemption(int fd, const Group &g, char (&to)[64])
{
	static const char *const compute[] = {"WFI", "CTA", "CILP"}, *const graphics[] = {"WFI", "GFXP", "GFXP_POOL"};
	CtxswModes modes{.channel = g.channels[0]};

	snprintf(to, sizeof(to), "null");
	if (!g.count || g.engine < NV2080_ENGINE_TYPE_GR0 || g.engine > NV2080_ENGINE_TYPE_GR7)
		return;
	const Device *d = find(devices, g.client, g.device);
	if (d && d->subdevice && ask(fd, g.client, d->subdevice, modes) && modes.compute < 3 && modes.graphics < 3)
		snprintf(to, sizeof(to), "{\"compute\": \"%s\", \"graphics\": \"%s\"}", compute[modes.compute],
			 graphics[modes.graphics]);
}

void tell(int fd, Group &g)
{
	const char *path = getenv("GPULENS_RUN_FILE");
	u32 ids[MAX_CHANNELS];
	GroupInfo info;
	GroupTimeslice slice;
	ChannelList list{.count = g.count,
			 .handles = reinterpret_cast<uintptr_t>(g.channels),
			 .ids = reinterpret_cast<uintptr_t>(ids)};
	char line[320 + 11 * MAX_CHANNELS], modes[64];
	int n;

	if (!path || !ask(fd, g.client, g.handle, info))
		return;
	const Device *d = find(devices, g.client, g.device);
	n = snprintf(line, sizeof(line),
		     "{\"pid\": %d, \"device\": %u, \"tsg\": %u, \"engine\": %u, \"timeslice_us\": ", getpid(),
		     d ? d->instance : 0, info.tsg, g.engine);
	if (ask(fd, g.client, g.handle, slice))
		n += snprintf(line + n, sizeof(line) - n, "%llu", static_cast<unsigned long long>(slice.us));
	else
		n += snprintf(line + n, sizeof(line) - n, "null");
	preemption(fd, g, modes);
	n += snprintf(line + n, sizeof(line) - n, ", \"preemption\": %s, \"channels\": [", modes);
	if (g.count && ask(fd, g.client, g.device, list))
		for (u32 i = 0; i < g.count; i++)
			n += snprintf(line + n, sizeof(line) - n, "%s%u", i ? ", " : "", ids[i]);
	n += snprintf(line + n, sizeof(line) - n, "]}\n");
	size_t now = std::hash<std::string_view>{}({line, static_cast<size_t>(n)});
	if (now == g.told)
		return;
	g.told = now;
	// gpulens run has made it; after its end nobody's link or file of that name is meant. Its own link is below /proc.
	int out = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | (strncmp(path, "/proc/", 6) ? O_NOFOLLOW : 0));
	if (out < 0)
		return;
	// One write: lines of several processes do not mix.
	if (write(out, line, static_cast<size_t>(n)) != n)
		perror("gpulens run");
	close(out);
}

// The driver's interface has pointers as numbers.
template <typename T> const T *pointed(u64 where)
{
	return reinterpret_cast<const T *>(where); // NOLINT(performance-no-int-to-ptr)
}

template <typename Params> void allocated(int fd, const Params &a)
{
	if (a.cls == NV01_DEVICE_0) {
		if (Device *d = find(devices, 0, 0))
			*d = {.client = a.root,
			      .handle = a.object,
			      .instance = a.params ? pointed<DeviceAlloc>(a.params)->device_id : 0};
	} else if (a.cls == NV20_SUBDEVICE_0) {
		if (Device *d = find(devices, a.root, a.parent))
			d->subdevice = a.object;
	} else if (a.cls == KEPLER_CHANNEL_GROUP_A) {
		if (Group *g = find(groups, 0, 0))
			*g = {.client = a.root,
			      .handle = a.object,
			      .device = a.parent,
			      .engine = a.params ? pointed<GroupAlloc>(a.params)->engine : 0};
	} else if ((a.cls & 0xff) == 0x6f) {
		Group *g = find(groups, a.root, a.parent);
		if (!g || g->count == MAX_CHANNELS)
			return;
		g->channels[g->count++] = a.object;
		tell(fd, *g);
	} else if (Group *g = group_of(a.root, a.parent)) {
		tell(fd, *g); // with an engine's object its channel gets that engine's modes
	}
}

// With a device goes what is below it. Nothing is told: a program that ends frees all, and what counts is what it had.
void freed(u32 client, u32 object)
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

// The request's parameters where it is of that kind and size, and was granted.
template <typename Params> const Params *good(unsigned nr, unsigned long request, const void *arg)
{
	const Params *p = static_cast<const Params *>(arg);

	return _IOC_NR(request) == nr && _IOC_SIZE(request) == sizeof(Params) && p->status == NV_OK ? p : nullptr;
}

void answered(int fd, unsigned long request, const void *arg)
{
	if (_IOC_TYPE(request) != NV_IOCTL_MAGIC)
		return;
	std::lock_guard<std::mutex> hold(lock);
	if (const Alloc *a = good<Alloc>(NV_ESC_RM_ALLOC, request, arg))
		allocated(fd, *a);
	if (const AllocWithRights *a = good<AllocWithRights>(NV_ESC_RM_ALLOC, request, arg))
		allocated(fd, *a);
	const Control *c = good<Control>(NV_ESC_RM_CONTROL, request, arg);
	Group *g = c && c->cmd >> 16 == KEPLER_CHANNEL_GROUP_A ? find(groups, c->client, c->object) : nullptr;
	if (g)
		tell(fd, *g); // scheduled, or with another time slice
	if (const Free *f = good<Free>(NV_ESC_RM_FREE, request, arg))
		freed(f->root, f->object);
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
		answered(fd, request, arg);
	errno = err;
	return ret;
}
