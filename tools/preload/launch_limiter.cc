// SPDX-License-Identifier: GPL-2.0
// libgpulens-confine.so, which gpulens run --tpcs preloads. Before main() it registers a callback with libcuda.so.1 that sets
// the mask of GPULENS_LAUNCH_MASK in each launch, without making a CUDA context. Then it acknowledges to the guard of
// gpulens run, which kills programs that use the GPU unlimited.
#include "lib/launch/environment.hpp"
#include "lib/launch/launch_hook.hpp"
#include "lib/launch/publish.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

using namespace gpulens;

[[noreturn]] void exit_unlimited(const std::string &why)
{
	report_unpartitioned(why);
	std::_Exit(STATUS_UNLIMITED);
}

environment::VerifiedMask verified{};

// A request of gpulens partitions set, which has verified it: for the same GPU.
bool change_mask(const char *text)
{
	environment::VerifiedMask mask{};

	if (!environment::parse_launch_mask(text, mask) || mask.format != verified.format || mask.gpu != verified.gpu)
		return false;
	hook::set_global(mask.mask);
	return true;
}

__attribute__((constructor)) void limit_launches()
{
	const char *text = getenv(environment::LAUNCH_MASK), *partition = getenv(environment::PARTITION);

	if (!text)
		return; // without an acknowledgement: the guard kills the program when it uses the GPU
	const DescriptorFormat *format =
		environment::parse_launch_mask(text, verified) ? find_descriptor(verified.format) : nullptr;
	if (!format)
		exit_unlimited("GPULENS_LAUNCH_MASK is not what gpulens run sets");
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	hook::restrict_to_gpu(verified.gpu);
	hook::use_format(*format);
	hook::set_global(verified.mask);
	const char *why = library ? hook::subscribe(library) : dlerror();
	if (why)
		exit_unlimited(why);
	if (!environment::acknowledge(environment::LIMIT_IN_SPACE))
		exit_unlimited(std::string("gpulens run does not take the acknowledgement that the mask is set: ") +
			       strerror(errno));
	if (partition)
		publish_on_request(partition, getenv(environment::FIXED) ? nullptr : change_mask);
}

} // namespace
