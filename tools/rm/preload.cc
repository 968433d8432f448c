// SPDX-License-Identifier: GPL-2.0
// Preloaded by gpulens run: looks on as a program asks NVIDIA's driver for channel groups (TSGs) and channels, and asks
// the driver, as that program, what they became. Nothing that the program asks is changed. Each line of GPULENS_RUN_FILE
// is a TSG as it is then; see run.hpp. This runs inside other people's programs: no exceptions, no streams.
#include "rm/abi.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

namespace {

using namespace tool::rm;

constexpr u32 MAX_GROUPS = 256,
	      MAX_CHANNELS = 128; // NV2080_CTRL_FIFO_INFO_INDEX_MAX_CHANNELS_PER_GROUP is 128 on GH100

struct Group {
	u32 client = 0, handle = 0; // both 0: free
	u32 device = 0, engine = 0; // NV2080_ENGINE_TYPE_*
	u32 count = 0, channels[MAX_CHANNELS] = {};
};

std::mutex lock;
Group groups[MAX_GROUPS];

int real_ioctl(int fd, unsigned long request, void *arg)
{
	static auto real = reinterpret_cast<int (*)(int, unsigned long, ...)>(dlsym(RTLD_NEXT, "ioctl"));

	return real(fd, request, arg);
}

Group *find(u32 client, u32 handle)
{
	for (Group &g : groups)
		if (g.handle == handle && g.client == client)
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

void tell(int fd, const Group &g)
{
	const char *path = getenv("GPULENS_RUN_FILE");
	u32 ids[MAX_CHANNELS];
	GroupInfo info;
	GroupTimeslice slice;
	ChannelList list{.count = g.count,
			 .handles = reinterpret_cast<uintptr_t>(g.channels),
			 .ids = reinterpret_cast<uintptr_t>(ids)};
	char line[256 + 11 * MAX_CHANNELS];
	int n;

	if (!path || !ask(fd, g.client, g.handle, info))
		return;
	n = snprintf(line, sizeof(line), "{\"pid\": %d, \"tsg\": %u, \"engine\": %u, \"timeslice_us\": ", getpid(),
		     info.tsg, g.engine);
	if (ask(fd, g.client, g.handle, slice))
		n += snprintf(line + n, sizeof(line) - n, "%llu", static_cast<unsigned long long>(slice.us));
	else
		n += snprintf(line + n, sizeof(line) - n, "null");
	n += snprintf(line + n, sizeof(line) - n, ", \"channels\": [");
	if (g.count && ask(fd, g.client, g.device, list))
		for (u32 i = 0; i < g.count; i++)
			n += snprintf(line + n, sizeof(line) - n, "%s%u", i ? ", " : "", ids[i]);
	n += snprintf(line + n, sizeof(line) - n, "]}\n");
	int out = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (out < 0)
		return;
	// One write: lines of several processes do not mix.
	if (write(out, line, static_cast<size_t>(n)) != n)
		perror("gpulens run");
	close(out);
}

template <typename Params> void allocated(int fd, const Params &a)
{
	Group *g = (a.cls & 0xff) == 0x6f ? find(a.root, a.parent) : nullptr;

	if (g && g->count < MAX_CHANNELS) {
		g->channels[g->count++] = a.object;
		tell(fd, *g);
	}
	g = a.cls == KEPLER_CHANNEL_GROUP_A ? find(0, 0) : nullptr;
	if (!g)
		return;
	*g = {.client = a.root, .handle = a.object, .device = a.parent};
	if (a.params)
		g->engine = reinterpret_cast<const GroupAlloc *>(a.params)->engine;
}

void freed(u32 client, u32 object)
{
	for (Group &g : groups)
		if (g.client == client && (g.handle == object || g.device == object || client == object))
			g = {};
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
	const Group *g = c && c->cmd >> 16 == KEPLER_CHANNEL_GROUP_A ? find(c->client, c->object) : nullptr;
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
