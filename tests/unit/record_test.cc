// SPDX-License-Identifier: GPL-2.0
// The recorder that makes /proc/gpuX/image, and what it may do while the machine is stopped.
#include "support/core/fake.hpp"
#include "gpulens/record.h"

#include <gtest/gtest.h>

namespace {

using test::Fake;

struct Recorder {
	lens_recorder r{}; // first: reserve() and note() get its address
	int reserved = 0, noted = 0;
	bool stopped = false, reserved_while_stopped = false;
};

Recorder *recorder_of(lens_recorder *r)
{
	return reinterpret_cast<Recorder *>(r);
}

// reserve() allocates, which is not allowed while the machine is stopped. Seen failing when rd32() always called it.
TEST(Record, NothingIsAllocatedWhileTheMachineIsStopped)
{
	Fake f(lens_chip_gp10x);
	Recorder rec;
	lens_record_init(&rec.r, f.io());
	rec.r.note = [](lens_recorder *r, char, u64, const u32 *, u32) { recorder_of(r)->noted++; };
	rec.r.reserve = [](lens_recorder *r, u32) {
		recorder_of(r)->reserved++;
		recorder_of(r)->reserved_while_stopped |= recorder_of(r)->stopped;
		return 0;
	};
	lens_io *io = &rec.r.io;
	io->ops->rd32(io, 0x100);
	EXPECT_EQ(rec.reserved, 1);
	auto look = [](void *arg) {
		Recorder *rec = static_cast<Recorder *>(arg);
		lens_io *io = &rec->r.io;
		u64 words[2];
		rec->stopped = true;
		io->ops->rd32(io, 0x200);
		int err = io->ops->copy(io, LENS_VID, 0x1000, words, 2);
		rec->stopped = false;
		return err;
	};
	EXPECT_EQ(io->ops->exclusive(io, look, &rec), 0);
	EXPECT_EQ(rec.reserved, 2); // once for all of it
	EXPECT_FALSE(rec.reserved_while_stopped);
	EXPECT_EQ(rec.noted, 3);
	io->ops->rd32(io, 0x100);
	EXPECT_EQ(rec.reserved, 3);
}

// An image never has a write: requests that would write are not run.
TEST(Record, RequestsAreRefused)
{
	Fake f(lens_chip_gp10x);
	Recorder rec;
	lens_record_init(&rec.r, f.io());
	lens_io *io = &rec.r.io;
	bool ran = false;
	auto request = [](void *arg) {
		*static_cast<bool *>(arg) = true;
		return 0;
	};
	EXPECT_EQ(io->ops->atomic(io, request, &ran), -EPERM);
	EXPECT_FALSE(ran);
	io->ops->wr32(io, 0x100, 1);
	EXPECT_TRUE(f.writes.empty());
}

} // namespace
