// SPDX-License-Identifier: GPL-2.0
// The intervals, holes and gaps of a long recording, on disk: blocks of each track's, compressed, in a file that has no
// name. What is read back is what was put, in the order of its track.
#pragma once
#include "lib/model/model.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tool {

// Where a block lies in the file.
struct StoreBlock {
	u64 at = 0; // byte
	u32 bytes = 0, count = 0;
};

class TimelineStore {
public:
	// What a track collects in memory before it is put. Bounds both memory and the number of blocks.
	static constexpr size_t BLOCK = 4096;

	// folder: where the file is made, at the first put(); in /var/tmp if that takes none. Empty: /var/tmp.
	explicit TimelineStore(std::string folder, size_t block = BLOCK);
	TimelineStore(const TimelineStore &) = delete;
	TimelineStore &operator=(const TimelineStore &) = delete;
	~TimelineStore();

	size_t block() const { return block_; }
	// Throws SourceError, e.g. when there is no room on the disk. T: Interval, Hole or Gap.
	template <typename T> StoreBlock put(const std::vector<T> &items);
	template <typename T> void get(const StoreBlock &block, std::vector<T> &items) const;

private:
	void open();
	[[noreturn]] void fail(int err) const;

	std::string folder_;
	size_t block_;
	int fd_ = -1;
	u64 end_ = 0;
};

} // namespace tool
