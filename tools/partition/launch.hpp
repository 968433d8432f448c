// SPDX-License-Identifier: GPL-2.0
// Masks of launches in this process (lib/launch/launch_hook.hpp), of TPCs by their numbers. Nothing is masked before a probe kernel has
// shown, TPC by TPC, that masks do on this GPU and driver what they are taken for.
#pragma once
#include "lib/launch/launch_hook.hpp"
#include "partition/cuda.hpp"
#include "partition/layout.hpp"

#include <optional>
#include <string>

namespace gpulens {

class Launches {
public:
	static Launches &the();

	// Hooks the driver and verifies masks on the GPU of the calling thread's CUDA context, or of device 0 where it has none;
	// once. Throws Error, and the same one again: what is missing, or what the probe saw instead.
	const Layout &ready();
	// For all launches that no other mask is for. Throws Error, as ready().
	void set_global(const TpcMask &enabled);
	// For all of a stream of the calling thread's context, until it is destroyed, over the global one. Graphs are not launched
	// through the stream that they are launched in. Runs the probe on the stream: it must not be capturing. Returns what
	// end_stream() wants. Throws Error, as ready(), and where the stream's launches cannot be told from others'.
	const void *set_stream(void *stream, const TpcMask &enabled);
	// Before the stream is destroyed: another one may get its place, and then would have its mask.
	static void end_stream(const void *launches);
	// For the calling thread's next launch, over both.
	void set_next(const TpcMask &enabled);

private:
	bool ready_ = false;
	std::optional<Error> failed_;
	Layout layout_;
	unsigned sms_ = 0;
};

} // namespace gpulens
