// SPDX-License-Identifier: GPL-2.0
// Masks in CUDA's launch descriptors (TMD, also QMD): the driver's own callback gets a descriptor before it is uploaded
// (RTAS'23, section IV-A; what is where in it: docs/results/2026-11-22-h200-masks.md). Nothing is masked before a probe kernel
// has shown, TPC by TPC, that masks do on this GPU and driver what they are taken for.
#pragma once
#include "layout.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace gpulens {

using LaunchMask = std::array<uint64_t, 2>; // a set bit disables

// On standard error, before the program is ended.
void say_unpartitioned(const std::string &why);

class Launches {
public:
	static Launches &the();

	// Hooks the driver and verifies masks on the GPU of the calling thread's CUDA context, or of device 0 where it has none;
	// once. Throws Error, and the same one again: what is missing, or what the probe saw instead.
	const Layout &ready();
	// For all launches that no other mask is for. Throws Error, as ready().
	void set_global(const TpcMask &enabled);
	// For the calling thread's next launch.
	void set_next(const TpcMask &enabled);

private:
	bool ready_ = false;
	std::optional<Error> failed_;
	Layout layout_;
};

} // namespace gpulens
