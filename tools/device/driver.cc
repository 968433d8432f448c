// SPDX-License-Identifier: GPL-2.0
// See driver.hpp.
#include "device/driver.hpp"

#include "lib/base/errors.hpp"
#include "lib/launch/symbol.hpp"

#include <fmt/format.h>

namespace gpulens {

namespace {

template <typename F> void load_function(const char *name, F &function)
{
	if (!find_symbol(cuda().library, name, function))
		throw tool::Error(tool::Error::Missing, fmt::format("libcuda.so.1 has no {}", name));
}

Driver load_driver()
{
	Driver d{};

	load_function("cuDeviceGetName", d.name);
	load_function("cuEventCreate", d.make_event);
	load_function("cuEventRecord", d.record);
	load_function("cuEventSynchronize", d.wait_event);
	load_function("cuEventElapsedTime", d.elapsed);
	load_function("cuMemHostAlloc", d.host_alloc);
	load_function("cuMemcpyHtoDAsync_v2", d.to_device);
	load_function("cuMemcpyDtoHAsync_v2", d.to_host);
	load_function("cuMemsetD8_v2", d.set);
	return d;
}

} // namespace

const Driver &driver()
{
	static const Driver loaded = load_driver();
	return loaded;
}

} // namespace gpulens
