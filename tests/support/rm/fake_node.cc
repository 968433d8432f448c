// SPDX-License-Identifier: GPL-2.0
// The functions of fake_rm.cc that are preloaded: they open, close and control /dev/nvidiactl, /dev/nvidia0 and
// /dev/nvidia1. Calls for other files go to the C library.
#include "fake_rm.hpp"

#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <mutex>
#include <sys/ioctl.h>
#include <sys/mman.h>

namespace {

using fake::Rm;

std::mutex lock;

bool is_node(const char *path, const char *node)
{
	return path && strcmp(path, node) == 0 && Rm::the().fakes();
}

// /dev/nvidia0 to /dev/nvidia9
bool is_gpu(const char *path)
{
	return path && strncmp(path, "/dev/nvidia", 11) == 0 && path[11] >= '0' && path[11] <= '9' && !path[12] &&
	       Rm::the().fakes();
}

template <typename F> F find_real(const char *name)
{
	return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

int open_either(const char *name, const char *path, int flags, int mode)
{
	std::lock_guard<std::mutex> hold(lock);
	auto open = find_real<int (*)(const char *, int, ...)>(name);
	bool control = is_node(path, "/dev/nvidiactl"), gpu = is_gpu(path);
	int refused = gpu ? Rm::the().refuses(path) : 0;
	int fd = refused                                 ? -1
		 : control && Rm::the().fakes_switches() ? memfd_create("nvidiactl", MFD_CLOEXEC) // which can be mapped
							 : open(control || gpu ? "/dev/null" : path, flags, mode);

	if (refused)
		errno = refused;
	if (gpu && !refused)
		Rm::the().opened_gpu();
	if (control && fd >= 0)
		Rm::the().opened(fd);
	return fd;
}

} // namespace

extern "C" {

int open(const char *path, int flags, ...)
{
	va_list more;

	va_start(more, flags);
	int mode = va_arg(more, int);
	va_end(more);
	return open_either("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	va_list more;

	va_start(more, flags);
	int mode = va_arg(more, int);
	va_end(more);
	return open_either("open64", path, flags, mode);
}

int access(const char *path, int mode)
{
	std::lock_guard<std::mutex> hold(lock);

	return is_node(path, "/dev/nvidiactl") ? 0 : find_real<int (*)(const char *, int)>("access")(path, mode);
}

int close(int fd)
{
	std::lock_guard<std::mutex> hold(lock);

	Rm::the().close(fd);
	return find_real<int (*)(int)>("close")(fd);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list more;

	va_start(more, request);
	void *arg = va_arg(more, void *);
	va_end(more);
	std::lock_guard<std::mutex> hold(lock);
	if (Rm::the().owns(fd))
		return Rm::the().ioctl(request, arg);
	return find_real<int (*)(int, unsigned long, ...)>("ioctl")(fd, request, arg);
}
}
