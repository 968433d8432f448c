// SPDX-License-Identifier: GPL-2.0
// Preloaded by gpulens run --tpcs: before the program's main it asks libcuda to call back before launches, each of which
// then gets the mask of GPULENS_LAUNCH_MASK, "VERSION:LOW:HIGH:UUID" in hexadecimal: what descriptors have to be, the bits,
// and the GPU. gpulens run has verified them (confinement.hpp). libcuda.so.1 is loaded, but no CUDA context is made. Then it
// acknowledges to gpulens run, which ends programs that use the GPU without (tools/gpulens/cmd/guard.hpp).
#include "lib/launch/guard_call.hpp"
#include "lib/launch/launch_hook.hpp"
#include "lib/launch/publish.hpp"
#include "preload/launch_mask.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace gpulens;
using tool::GUARD_ACKNOWLEDGE;

[[noreturn]] void refuse(const char *why)
{
	say_unpartitioned(why);
	std::_Exit(tool::STATUS_UNLIMITED);
}

// Directly: a preloaded ioctl() is not meant.
bool acknowledge()
{
	return !syscall(SYS_ioctl, -1, GUARD_ACKNOWLEDGE, nullptr) || errno == EBADF;
}

__attribute__((constructor)) void confine()
{
	const char *text = getenv("GPULENS_LAUNCH_MASK"), *told = getenv("GPULENS_PARTITION");
	ConfineMask mask{};

	if (!text)
		return; // it does not acknowledge: gpulens run ends it where it uses the GPU
	if (!parse(text, mask) || mask.version != hook::VERSION)
		refuse("GPULENS_LAUNCH_MASK is not what gpulens run sets");
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	hook::only_on(mask.gpu);
	hook::set_global(mask.bits);
	const char *why = library ? hook::subscribe(library) : dlerror();
	if (why)
		refuse(why);
	if (!acknowledge())
		refuse("gpulens run does not take the acknowledgement that the mask is set");
	if (told)
		announce(told);
}

} // namespace
