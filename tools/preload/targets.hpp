// SPDX-License-Identifier: GPL-2.0
// What the agent asks of the driver about one of the program's TSGs.
#pragma once
#include "preload/driver_objects.hpp"

namespace preload {

// A TSG of a graphics engine with channels, copied so that no lock is held while the driver is asked.
struct Target {
	int fd = -1; // of the client
	u32 client = 0, group = 0, subdevice = 0, count = 0, channels[MAX_CHANNELS] = {};
};

// At most MAX_GROUPS. Returns how many.
size_t copy_targets(Target (&targets)[MAX_GROUPS]);
// Each returns the driver's status, the first one that is not NV_OK.
u32 disable_channels(const Target &t, bool disable, bool only_scheduling);
// A context that waits for its work to end would be reset at the timeout, so only one that CILP preempts is asked to leave.
u32 preempt_group(const Target &t, u32 timeout_us);
u32 schedule_group(const Target &t, bool enable); // onto its runlist, or off it

} // namespace preload
