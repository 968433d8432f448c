// SPDX-License-Identifier: GPL-2.0
// The program's TSGs and channels, as its own requests to NVIDIA's driver show them. Inside other people's programs: no
// exceptions, no streams. Hold `objects_lock` while using the tables.
#pragma once
#include "lib/rm/abi.hpp"

#include <cstddef>
#include <mutex>

namespace preload {

constexpr u32 MAX_GROUPS = 256, MAX_DEVICES = 64,
	      MAX_CHANNELS = 128; // NV2080_CTRL_FIFO_INFO_INDEX_MAX_CHANNELS_PER_GROUP is 128 on GH100

struct Group {
	u32 client = 0, handle = 0; // both 0: free
	int fd = -1;                // that the program reaches the client through
	u32 device = 0, engine = 0; // NV2080_ENGINE_TYPE_*
	u32 count = 0, channels[MAX_CHANNELS] = {};
	u64 slice_us = 0;     // that the driver granted; 0: none was set
	size_t line_hash = 0; // of its last line (tsg_recorder.cc)

	bool on_graphics() const;
};

struct Device {
	u32 client = 0, handle = 0;      // both 0: free
	u32 instance = 0, subdevice = 0; // subdevice 0: none; engines are queried through it
};

extern std::mutex objects_lock;
extern Group groups[MAX_GROUPS];
extern Device devices[MAX_DEVICES];

template <typename T, size_t N> T *find_object(T (&all)[N], u32 client, u32 handle)
{
	for (T &object : all)
		if (object.handle == handle && object.client == client)
			return &object;
	return nullptr;
}

// The ioctl(2) that this library's hides.
int real_ioctl(int fd, unsigned long request, void *arg);

// Sends a control. Returns NV_OK, the driver's status, or NO_ANSWER if the driver was not asked.
constexpr u32 NO_ANSWER = ~0U;
u32 send_control(int fd, u32 client, u32 object, u32 cmd, void *params, u32 size);

template <typename Params> u32 send_control(int fd, u32 client, u32 object, Params &params)
{
	return send_control(fd, client, object, Params::CMD, &params, sizeof(params));
}

// The parameters of a request of that kind and size, or nullptr.
template <typename Params> Params *request_params(unsigned nr, unsigned long request, void *arg)
{
	return _IOC_TYPE(request) == tool::rm::NV_IOCTL_MAGIC && _IOC_NR(request) == nr &&
			       _IOC_SIZE(request) == sizeof(Params)
		       ? static_cast<Params *>(arg)
		       : nullptr;
}

// The parameters of a request that sets a TSG's time slice, in the program's memory; nullptr of another one.
tool::rm::GroupSetTimeslice *slice_params(const tool::rm::Control &c);

// Notes what the driver has granted. Returns the TSG that changed, or nullptr.
Group *note_request(int fd, unsigned long request, void *arg);

} // namespace preload
