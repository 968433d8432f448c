// SPDX-License-Identifier: GPL-2.0
// See targets.hpp. Unprivileged controls of the program's own client.
#include "preload/targets.hpp"

#include <algorithm>

namespace preload {

using namespace tool::rm;

namespace {

constexpr u32 CILP = 2; // of CtxswModes::compute

} // namespace

size_t copy_targets(Target (&targets)[MAX_GROUPS])
{
	std::lock_guard<std::mutex> hold(objects_lock);
	size_t n = 0;

	for (const Group &g : groups) {
		const Device *d = find_object(devices, g.client, g.device);
		if (!g.handle || !g.count || !g.on_graphics() || !d || !d->subdevice)
			continue;
		targets[n] = {
			.fd = g.fd, .client = g.client, .group = g.handle, .subdevice = d->subdevice, .count = g.count};
		std::copy_n(g.channels, g.count, targets[n++].channels);
	}
	return n;
}

u32 disable_channels(const Target &t, bool disable, bool only_scheduling)
{
	u32 status = NV_OK;

	for (u32 first = 0; first < t.count; first += 64) {
		DisableChannels params{.disable = disable,
				       .count = std::min(t.count - first, 64U),
				       .only_scheduling = only_scheduling};
		std::fill_n(params.clients, params.count, t.client);
		std::copy_n(t.channels + first, params.count, params.channels);
		u32 answer = send_control(t.fd, t.client, t.subdevice, params);
		if (status == NV_OK)
			status = answer;
	}
	return status;
}

u32 preempt_group(const Target &t, u32 timeout_us)
{
	CtxswModes modes{.channel = t.channels[0]};
	GroupPreempt params{.timeout_us = std::clamp(timeout_us, 1U, 1000000U)};
	u32 status = send_control(t.fd, t.client, t.subdevice, modes);

	if (status != NV_OK)
		return status;
	return modes.compute == CILP ? send_control(t.fd, t.client, t.group, params) : u32{NV_ERR_INVALID_STATE};
}

u32 schedule_group(const Target &t, bool enable)
{
	GroupSchedule params{.enable = enable};
	u32 status = send_control(t.fd, t.client, t.group, params);

	return status == NV_ERR_INVALID_PARAM_STRUCT
		       ? send_control(t.fd, t.client, t.group, params.CMD, &params, GroupSchedule::OLD_SIZE)
		       : status;
}

} // namespace preload
