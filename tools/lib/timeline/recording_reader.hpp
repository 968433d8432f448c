// SPDX-License-Identifier: GPL-2.0
// Recordings of one or several GPUs, as a stream of bytes. Of one GPU it is the stream of its samples, with a snapshot before
// it. Of several it is a header, then pieces of these streams, each after a struct of its length; docs/proc.md has both.
#pragma once
#include "lib/timeline/timeline.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

constexpr u32 MAX_RECORDED_GPUS = 256;

// Returns what the recording of so many GPUs begins with; empty for one.
std::string recording_head(u32 gpus);
// Returns what stands before the next bytes of a GPU, which has this place among them; empty for one.
std::string piece_head(u32 gpus, u32 place, u32 bytes);

// Builds the timelines from the bytes of a recording, in pieces of any size.
class RecordingReader {
public:
	// make_store: returns where the items of a GPU's timeline lie when there are many; null: in memory.
	explicit RecordingReader(std::function<std::shared_ptr<TimelineStore>()> make_store)
		: make_store_(std::move(make_store))
	{
	}

	// Throws Error (Source) for a bad recording.
	void feed(std::string_view bytes);
	// Returns the timelines of the GPUs that have any samples, in the order of their places; at least one. Throws Error
	// (Source) if the recording ends before the first sample.
	std::vector<Timeline> finish();

private:
	bool take_head();

	std::function<std::shared_ptr<TimelineStore>()> make_store_;
	std::vector<TimelineBuilder> builders_; // by place; empty: the head is not complete
	bool several_ = false;
	std::string pending_;   // of a head
	u32 place_ = 0;         // of the GPU that the current piece is of
	size_t piece_left_ = 0; // bytes
};

} // namespace tool
