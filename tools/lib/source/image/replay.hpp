// SPDX-License-Identifier: GPL-2.0
// Replays an image: implements the core's lens_io_ops with an Image in place of a GPU. A word that was not recorded reads
// like an unreadable register or unreadable memory, and is listed in take_missing(). Writes have no effect.
#pragma once
#include "gpulens/io.h"
#include "lib/base/failure.hpp"
#include "lib/source/image/image.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tool {

class Replay {
public:
	explicit Replay(const Image &image);
	Replay(const Replay &) = delete;
	Replay &operator=(const Replay &) = delete;

	lens_io *io() { return &shell_.io; }
	// Returns the words that were missing since the last call, each once, in the order of the reads.
	std::vector<Missing> take_missing();
	// Returns the number of attempted writes; the core should make none.
	size_t writes() const { return writes_; }

private:
	// Maps the lens_io that the core passes to its Replay.
	struct Shell {
		lens_io io;
		Replay *self;
	};

	static Replay *self(lens_io *io) { return reinterpret_cast<Shell *>(io)->self; }
	static u32 rd32(lens_io *io, u32 off);
	static void wr32(lens_io *io, u32 off, u32 val);
	static u64 rd64(lens_io *io, u32 off);
	static int copy(lens_io *io, lens_aperture ap, u64 addr, u64 *dst, u32 words);
	static int store32(lens_io *io, lens_aperture ap, u64 addr, u32 val);
	static int exclusive(lens_io *io, int (*fn)(void *arg), void *arg);
	static int wait_us(lens_io *io, u32 us);

	void add_missing(char kind, uint64_t addr);

	const Image &image_;
	Shell shell_{};
	std::vector<Missing> missing_;
	std::set<std::pair<char, uint64_t>> known_missing_;
	size_t writes_ = 0;
};

} // namespace tool
