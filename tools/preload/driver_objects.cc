// SPDX-License-Identifier: GPL-2.0
// The free of a device or client also ends what is below it. An engine's object below a channel counts as a change of the
// TSG, because it sets the preemption modes. Objects for which the tables have no room are not followed.
#include "preload/driver_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>

namespace preload {

using namespace tool::rm;

std::mutex objects_lock;
Group groups[MAX_GROUPS];
Device devices[MAX_DEVICES];

bool Group::on_graphics() const
{
	return engine >= NV2080_ENGINE_TYPE_GR0 && engine <= NV2080_ENGINE_TYPE_GR7;
}

int real_ioctl(int fd, unsigned long request, void *arg)
{
	static auto real = reinterpret_cast<int (*)(int, unsigned long, ...)>(dlsym(RTLD_NEXT, "ioctl"));

	return real(fd, request, arg);
}

u32 send_control(int fd, u32 client, u32 object, u32 cmd, void *params, u32 size)
{
	Control c{.client = client,
		  .object = object,
		  .cmd = cmd,
		  .params = reinterpret_cast<uintptr_t>(params),
		  .params_size = size};

	return real_ioctl(fd, _IOWR(NV_IOCTL_MAGIC, NV_ESC_RM_CONTROL, Control), &c) ? NO_ANSWER : c.status;
}

namespace {

Group *group_of(u32 client, u32 channel)
{
	for (Group &g : groups)
		for (u32 i = 0; i < g.count; i++)
			if (g.client == client && g.channels[i] == channel)
				return &g;
	return nullptr;
}

// The driver's interface has pointers as numbers.
template <typename T> const T *pointer_of(u64 address)
{
	return reinterpret_cast<const T *>(address); // NOLINT(performance-no-int-to-ptr)
}

template <typename Params> Group *note_allocation(int fd, const Params &a)
{
	if (a.cls == NV01_DEVICE_0) {
		if (Device *d = find_object(devices, 0, 0))
			*d = {.client = a.root,
			      .handle = a.object,
			      .instance = a.params ? pointer_of<DeviceAlloc>(a.params)->device_id : 0};
	} else if (a.cls == NV20_SUBDEVICE_0) {
		if (Device *d = find_object(devices, a.root, a.parent))
			d->subdevice = a.object;
	} else if (a.cls == KEPLER_CHANNEL_GROUP_A) {
		if (Group *g = find_object(groups, 0, 0))
			*g = {.client = a.root,
			      .handle = a.object,
			      .fd = fd,
			      .device = a.parent,
			      .engine = a.params ? pointer_of<GroupAlloc>(a.params)->engine : 0};
	} else if ((a.cls & 0xff) == 0x6f) {
		Group *g = find_object(groups, a.root, a.parent);
		if (!g || g->count == MAX_CHANNELS)
			return nullptr;
		g->channels[g->count++] = a.object;
		return g;
	} else {
		return group_of(a.root, a.parent); // an engine's object sets the channel's preemption modes
	}
	return nullptr;
}

// Freeing a device frees what is below it.
void note_free(u32 client, u32 object)
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

template <typename Params> const Params *granted_params(unsigned nr, unsigned long request, void *arg)
{
	const Params *p = request_params<Params>(nr, request, arg);

	return p && p->status == NV_OK ? p : nullptr;
}

} // namespace

GroupSetTimeslice *slice_params(const Control &c)
{
	bool sets = c.cmd == GroupSetTimeslice::CMD && c.params && c.params_size == sizeof(GroupSetTimeslice);

	// The driver's interface has pointers as numbers.
	return sets ? reinterpret_cast<GroupSetTimeslice *>(c.params) : nullptr; // NOLINT(performance-no-int-to-ptr)
}

Group *note_request(int fd, unsigned long request, void *arg)
{
	if (const Alloc *a = granted_params<Alloc>(NV_ESC_RM_ALLOC, request, arg))
		return note_allocation(fd, *a);
	if (const AllocWithRights *a = granted_params<AllocWithRights>(NV_ESC_RM_ALLOC, request, arg))
		return note_allocation(fd, *a);
	const Control *c = granted_params<Control>(NV_ESC_RM_CONTROL, request, arg);
	if (c && c->cmd >> 16 == KEPLER_CHANNEL_GROUP_A) {
		Group *g = find_object(groups, c->client, c->object);
		if (const GroupSetTimeslice *slice = slice_params(*c); g && slice)
			g->slice_us = slice->us;
		return g; // scheduled, or its time slice was set
	}
	if (const Free *f = granted_params<Free>(NV_ESC_RM_FREE, request, arg))
		note_free(f->root, f->object);
	return nullptr;
}

} // namespace preload
