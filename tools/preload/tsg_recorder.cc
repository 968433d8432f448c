// SPDX-License-Identifier: GPL-2.0
// A line is written by one write(2), so that lines of several processes do not mix, and only if its hash differs from that
// of the last one. A link in place of the file is followed below /proc only.
#include "preload/tsg_recorder.hpp"

#include "lib/launch/environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <string_view>
#include <unistd.h>

namespace preload {

using namespace tool::rm;

namespace {

template <typename Params> bool query(int fd, u32 client, u32 object, Params &params)
{
	return send_control(fd, client, object, params) == NV_OK;
}

// JSON of the preemption modes of the group's contexts; "null" where unknown, as for copy engines: the driver reports WFI
// for all of those.
void format_preemption(int fd, const Group &g, char (&text)[64])
{
	static const char *const compute[] = {"WFI", "CTA", "CILP"}, *const graphics[] = {"WFI", "GFXP", "GFXP_POOL"};
	CtxswModes modes{.channel = g.channels[0]};

	snprintf(text, sizeof(text), "null");
	if (!g.count || !g.on_graphics())
		return;
	const Device *d = find_object(devices, g.client, g.device);
	if (d && d->subdevice && query(fd, g.client, d->subdevice, modes) && modes.compute < 3 && modes.graphics < 3)
		snprintf(text, sizeof(text), "{\"compute\": \"%s\", \"graphics\": \"%s\"}", compute[modes.compute],
			 graphics[modes.graphics]);
}

} // namespace

void write_tsg_line(int fd, Group &g)
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
	const Device *d = find_object(devices, g.client, g.device);
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

} // namespace preload
