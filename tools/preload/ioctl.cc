// SPDX-License-Identifier: GPL-2.0
// libgpulens-run.so, which gpulens run preloads. It observes the program's requests for channel groups (TSGs) and channels to
// NVIDIA's driver. Each change of a TSG becomes a line of GPULENS_RUN_FILE (tsg_recorder.hpp). Only where the user asked for
// scheduling does it change or add requests (agent.hpp). Inside other people's programs: no exceptions, no streams.
#include "preload/agent.hpp"
#include "preload/tsg_recorder.hpp"

#include <cerrno>
#include <cstdarg>

namespace {

void follow_request(int fd, unsigned long request, void *arg)
{
	std::lock_guard<std::mutex> hold(preload::objects_lock);

	if (preload::Group *g = preload::note_request(fd, request, arg)) {
		preload::write_tsg_line(fd, *g);
		preload::follow_group(*g);
	}
}

} // namespace

extern "C" __attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	bool driver = _IOC_TYPE(request) == tool::rm::NV_IOCTL_MAGIC;
	va_list more;

	va_start(more, request);
	void *arg = va_arg(more, void *);
	va_end(more);
	preload::count_ioctl();
	if (driver && arg)
		preload::prepare_request(request, arg);
	int ret = preload::real_ioctl(fd, request, arg);
	int err = errno;
	if (driver && !ret && arg)
		follow_request(fd, request, arg);
	errno = err;
	return ret;
}
