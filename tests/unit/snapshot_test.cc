// SPDX-License-Identifier: GPL-2.0
// The records of a snapshot (include/uapi/gpulens.h) of emulated GPUs without runlists' entries: tests of images and of the
// module's file see those. Seen failing with a record written beyond the room, and with a count of those that fit.
#include "gpulens/snapshot.h"
#include "support/core/emulated.hpp"
#include "uapi/gpulens.h"

#include <gtest/gtest.h>

namespace {

using Record = std::array<char, GPULENS_RECORD_BYTES>;

struct Encoded {
	explicit Encoded(const std::string &profile) : gpu(profile)
	{
		EXPECT_EQ(gpu.attach(), 0);
		s->where = "0000:00:06.0";
		for (u32 i = 0; i < gpu.topo().n_runlists; i++) {
			s->snap[i].rl = &gpu.topo().runlists[i];
			s->err[i] = -EPERM;
		}
	}
	u32 encode(std::vector<Record> &records, u32 room)
	{
		return lens_snapshot_encode(gpu.gpu.get(), s.get(), records.data(), room);
	}

	test::Emulated gpu;
	std::unique_ptr<lens_snapshot> s = std::make_unique<lens_snapshot>();
};

TEST(Snapshot, RecordsThatDoNotFitAreCountedAndNotWritten)
{
	for (const std::string &profile : test::profiles_but({})) {
		SCOPED_TRACE(profile);
		Encoded e(profile);
		u32 n = lens_snapshot_encode(e.gpu.gpu.get(), e.s.get(), nullptr, 0);
		Record untouched;
		untouched.fill('x');
		std::vector<Record> all(n + 1, untouched), few(n + 1, untouched);
		EXPECT_EQ(e.encode(all, n + 1), n);
		EXPECT_EQ(all[n], untouched);
		EXPECT_NE(all[n - 1], untouched);
		EXPECT_EQ(e.encode(few, n - 1), n);
		EXPECT_EQ(few[n - 1], untouched);
		EXPECT_TRUE(std::equal(all.begin(), all.begin() + n - 1, few.begin()));
	}
}

// Chip, engines, GPCs, PCEs, GRCEs, runlists: as include/uapi/gpulens.h numbers and orders them.
TEST(Snapshot, RecordsOfAnAda)
{
	Encoded e("ad102");
	std::vector<Record> records(1000);
	std::map<int, u32> counts;
	int before = 0;

	records.resize(e.encode(records, 1000));
	for (const Record &r : records) {
		int type = static_cast<unsigned char>(r[0]) | static_cast<unsigned char>(r[1]) << 8;
		counts[type]++;
		int order = type == GPULENS_RECORD_RUNLIST ? 100 : type; // last
		EXPECT_LE(before, order);
		before = order;
	}
	EXPECT_EQ(counts[GPULENS_RECORD_CHIP], 1U);
	EXPECT_EQ(counts[GPULENS_RECORD_ENGINE], e.gpu.topo().n_engines);
	EXPECT_EQ(counts[GPULENS_RECORD_GPC], 12U); // an RTX 6000 Ada: 12 GPCs
	EXPECT_EQ(counts[GPULENS_RECORD_RUNLIST], e.gpu.topo().n_runlists);
	gpulens_chip chip;
	memcpy(&chip, records[0].data(), sizeof(chip));
	EXPECT_EQ(chip.chip_id, 0x192); // NV_PMC_BOOT_0 of AD102
	EXPECT_STREQ(chip.name, "AD102");
	EXPECT_STREQ(chip.device, "0000:00:06.0");
}

} // namespace
