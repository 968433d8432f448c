// SPDX-License-Identifier: GPL-2.0
// A card that no driver has set up: PMC_ENABLE keeps Host (bit 8) off, and each read of PFIFO is refused. Words as on a
// Titan V after POST: PMC_ENABLE 0x40000020, PFIFO 0xbad00200; a cold K80 has 0xc0002020 and 0xbad0da1f. The device table,
// fuses and copy engines can be read. Rows of the table: open-gpu-doc volta/gv100/dev_top.ref.txt.
#include "support/core/fake.hpp"

#include <gtest/gtest.h>

namespace {

using test::Fake;

constexpr u32 OFF = 0x40000020, ON = 0x40000121, REFUSED = 0xbad00200;

class Cold : public testing::Test {
protected:
	Cold() : f(lens_chip_gv10x)
	{
		f.regs[0] = 0x140000a1;
		f.regs[0x200] = OFF;
		// graphics on runlist 0, engine 0; LCE 0 on runlist 2, engine 5
		f.set_rows(0x22700, {0x80400001, 0x80000032, 0x00000003, 0x80000001, 0x9440003a, 0x0000004f});
		f.regs[0x22430] = 6;
		f.regs[0x22434] = 7;
		f.regs[0x100ce0] = 0x12a; // 12 GiB
		f.answer = [this](u32 off) {
			if (off >= 0x2000 && off < 0x4000 && !(f.regs[0x200] & 0x100))
				return REFUSED;
			return f.regs[off];
		};
	}
	int attach()
	{
		int err = lens_gpu_identify(f.gpu.get(), f.io());
		return err ? err : lens_gpu_read_topology(f.gpu.get());
	}
	size_t reads_of_host()
	{
		size_t n = 0;
		for (u32 off : f.reads)
			n += off >= 0x2000 && off < 0x4000;
		return n;
	}
	lens_topology &topo() { return f.gpu->topo; }

	Fake f;
};

// Seen failing with the device table's error of read_runlists() returned, and without the look at PMC_ENABLE.
TEST_F(Cold, IsShownWithoutItsRunlists)
{
	ASSERT_EQ(attach(), 0);
	EXPECT_EQ(topo().host_err, -ENODATA);
	EXPECT_EQ(topo().n_engines, 2);
	EXPECT_EQ(topo().num_gpcs, 6);
	EXPECT_EQ(topo().gpcs_err, 0);
	EXPECT_EQ(topo().ce_err, 0);
	EXPECT_EQ(topo().devices_err, 0);
	ASSERT_EQ(topo().n_runlists, 2);
	for (u32 i = 0; i < 2; i++)
		EXPECT_EQ(topo().runlists[i].err, -ENODATA);
	lens_runlist_regs regs;
	EXPECT_EQ(lens_runlist_read_regs(f.gpu.get(), &topo().runlists[0], &regs), -ENODATA);
	lens_engine_status status;
	EXPECT_EQ(lens_engine_read(f.gpu.get(), &topo().engines[0], &status), -ENODATA);
	u32 reg[2];
	EXPECT_EQ(lens_engine_get_regs(f.gpu.get(), &topo().engines[0], reg), 0u);
	int runlist;
	lens_ref ref{LENS_NONE, 3};
	EXPECT_EQ(lens_channel_enable(f.gpu.get(), &ref, true, &runlist), -ENODATA);
	EXPECT_EQ(reads_of_host(), 0u); // a refused read interrupts a driver
	EXPECT_TRUE(f.writes.empty());
}

// Runlist 3 has no engine: it is not added, since its file would be missing.
TEST_F(Cold, RunlistsAreReadOnceADriverHasEnabledHost)
{
	ASSERT_EQ(attach(), 0);
	f.reads.clear();
	EXPECT_EQ(lens_gpu_read_host_again(f.gpu.get()), 0);
	EXPECT_EQ(f.reads, (std::vector<u32>{0x200}));
	EXPECT_EQ(topo().host_err, -ENODATA);
	f.regs[0x200] = ON;
	f.regs[0x2004] = 0x00200002;
	f.regs[0x2008] = 4096;
	f.set_rows(0x2390, {0x1, 0xc});
	EXPECT_EQ(lens_gpu_read_host_again(f.gpu.get()), 0);
	EXPECT_EQ(topo().host_err, 0);
	ASSERT_EQ(topo().n_runlists, 2);
	EXPECT_EQ(topo().runlists[1].id, 2);
	EXPECT_EQ(topo().runlists[1].err, 0);
	EXPECT_EQ(topo().runlists[1].channels, 4096);
	EXPECT_EQ(topo().runlists[1].pbdmas, 2u);
	f.reads.clear();
	EXPECT_EQ(lens_gpu_read_host_again(f.gpu.get()), 0);
	EXPECT_TRUE(f.reads.empty());
}

// Host is on, but one word of the map is refused: runlists may be missing, and all else is there.
TEST_F(Cold, RefusedMapOfPbdmasIsNoErrorOfTheRest)
{
	f.regs[0x200] = ON;
	f.regs[0x2004] = 0x00200003;
	f.set_rows(0x2390, {0x1, REFUSED, 0xc});
	ASSERT_EQ(attach(), 0);
	EXPECT_EQ(topo().host_err, 0);
	EXPECT_EQ(topo().devices_err, -EIO);
	EXPECT_EQ(topo().n_engines, 2);
	ASSERT_EQ(topo().n_runlists, 2);
	EXPECT_EQ(topo().runlists[0].err, 0);
	EXPECT_EQ(topo().num_gpcs, 6);
}

} // namespace
