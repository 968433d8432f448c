// SPDX-License-Identifier: GPL-2.0
// Preloaded by gpulens run --tpcs: before the program's main it asks libcuda to call back before launches, each of which
// then gets the mask of GPULENS_LAUNCH_MASK, "VERSION:LOW:HIGH:UUID" in hexadecimal: what descriptors have to be, the bits,
// and the GPU. gpulens run has verified them (confinement.hpp). libcuda.so.1 is loaded, but no CUDA context is made.
#include "announce.hpp"
#include "hook.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

using namespace gpulens;

[[noreturn]] void refuse(const char *why)
{
	say_unpartitioned(why);
	std::_Exit(1);
}

bool parse(const char *hex, GpuUuid &to)
{
	if (std::strlen(hex) != 2 * to.size() || std::strspn(hex, "0123456789abcdef") != 2 * to.size())
		return false;
	for (unsigned char &byte : to) {
		const char digits[] = {*hex++, *hex++, '\0'};
		byte = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
	}
	return true;
}

__attribute__((constructor)) void confine()
{
	const char *text = getenv("GPULENS_LAUNCH_MASK"), *told = getenv("GPULENS_PARTITION");
	LaunchMask mask{};
	GpuUuid gpu{};
	unsigned version = 0;
	int uuid = 0;

	if (!text)
		return; // a program's own child, with an environment of its own
	if (std::sscanf(text, "%x:%" SCNx64 ":%" SCNx64 ":%n", &version, &mask[0], &mask[1], &uuid) != 3 || !uuid ||
	    version != hook::VERSION || !parse(text + uuid, gpu))
		refuse("GPULENS_LAUNCH_MASK is not what gpulens run sets");
	hook::only_on(gpu);
	hook::set_global(mask);
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	const char *why = library ? hook::subscribe(library) : dlerror();
	if (why)
		refuse(why);
	if (told)
		announce(told);
}

} // namespace
