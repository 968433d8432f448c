// SPDX-License-Identifier: GPL-2.0
// Preloaded by gpulens run --tpcs: before the program's main it asks libcuda to call back before launches, each of which
// then gets the mask of GPULENS_LAUNCH_MASK, "VERSION:LOW:HIGH" in hexadecimal: what descriptors have to be, and the bits.
// gpulens run has verified them (confinement.hpp). libcuda.so.1 is loaded, but no CUDA context is made.
#include "announce.hpp"
#include "hook.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

namespace {

using namespace gpulens;

[[noreturn]] void refuse(const char *why)
{
	say_unpartitioned(why);
	std::_Exit(1);
}

__attribute__((constructor)) void confine()
{
	const char *text = getenv("GPULENS_LAUNCH_MASK"), *told = getenv("GPULENS_PARTITION");
	LaunchMask mask{};
	unsigned version = 0;
	char rest = 0;

	if (!text)
		return; // a program's own child, with an environment of its own
	if (std::sscanf(text, "%x:%" SCNx64 ":%" SCNx64 "%c", &version, &mask[0], &mask[1], &rest) != 3 ||
	    version != hook::VERSION)
		refuse("GPULENS_LAUNCH_MASK is not what gpulens run sets");
	hook::set_global(mask);
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	const char *why = library ? hook::subscribe(library) : dlerror();
	if (why)
		refuse(why);
	if (told)
		announce(told);
}

} // namespace
