// SPDX-License-Identifier: GPL-2.0
// Keeps the intervals, sample gaps and dropped ticks of a long recording on disk, as compressed blocks in a file
// without a name. Each block has items of one kind and one track, in order.
#pragma once
#include "lib/model/model.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

// The position of a block in the file.
struct StoreBlock {
	u64 offset = 0;           // bytes
	u32 bytes = 0, count = 0; // length, number of items
};

class TimelineStore {
public:
	// Items that a track collects in memory before they become a block. Bounds both memory and the number of
	// blocks.
	static constexpr size_t BLOCK_ITEMS = 4096;

	// folder: where the first put() makes the file; empty: /var/tmp, which is also used if the folder is not
	// writable. block_items: items per block.
	explicit TimelineStore(std::string folder, size_t block_items = BLOCK_ITEMS);
	TimelineStore(const TimelineStore &) = delete;
	TimelineStore &operator=(const TimelineStore &) = delete;
	~TimelineStore();

	size_t block_items() const { return block_items_; }
	// Writes and reads a block; T: Interval, SampleGap or DroppedTicks. Throws Error (Source), e.g. for a full disk.
	template <typename T> StoreBlock put(const std::vector<T> &items);
	template <typename T> void get(const StoreBlock &block, std::vector<T> &items) const;

private:
	void open();
	[[noreturn]] void fail(int err) const;

	std::string folder_;
	size_t block_items_;
	int fd_ = -1;
	u64 end_ = 0;
};

} // namespace tool
