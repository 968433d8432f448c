// SPDX-License-Identifier: GPL-2.0
// Records calls of CUDA's driver API in the file of lib/launch/call_log.hpp.
#pragma once
#include "lib/launch/call_log.hpp"

namespace preload {

constexpr u64 NO_STREAM = ~u64{0}, DEFAULT_STREAM = 0;

// One call, from construction to destruction. Calls within a call of the same thread, such as those of the driver itself, are not
// recorded.
class RecordedCall {
public:
	// from: the return address of the function that makes the call.
	RecordedCall(gpulens::Call call, u64 stream, const void *from);
	RecordedCall(const RecordedCall &) = delete;
	RecordedCall &operator=(const RecordedCall &) = delete;
	~RecordedCall();

private:
	gpulens::Call call_;
	u64 stream_, begin_ = 0; // begin_: 0: not recorded
};

// flags: of cuStreamCreate().
void note_stream(const void *stream, unsigned flags);
void note_no_stream(const void *stream);

} // namespace preload
