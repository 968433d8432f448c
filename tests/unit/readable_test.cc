// SPDX-License-Identifier: GPL-2.0
// GPUs whose firmware protects runlists from the CPU: an unreadable runlist is an error of that runlist only and one line
// of chip. The value that protected memory returns is not published; the emulated GPU returns 0xbad0b000.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"
#include "format.h"

#include <gtest/gtest.h>

namespace {

using nlohmann::json;
using test::Emulated;
using test::Fake;
using test::Snap;

std::string chip_text(lens_gpu *gpu, const lens_readable *r)
{
	lens_text t{};
	lens_format_chip(&t, gpu, "0000:01:00.0", r);
	std::string s(t.buf, t.len);
	lens_text_free(&t);
	return s;
}

struct Protected : testing::Test {
	Emulated e{"gh100"};
	lens_readable r;

	void SetUp() override
	{
		ASSERT_EQ(e.attach(), 0);
		e.emu->load_scenario(test::load_json("scenarios/demo-gh100.json"));
		e.emu->advance(3000000);
	}
	void fault(json f)
	{
		f["cmd"] = "fault";
		ASSERT_EQ(e.emu->control(f)["ok"], true);
	}
	json runlist(int id)
	{
		json state = e.emu->control({{"cmd", "state"}});
		for (const json &rl : state["runlists"])
			if (rl["id"] == id)
				return rl;
		return {};
	}
};

TEST_F(Protected, ReadableRunlistsHaveNoError)
{
	ASSERT_EQ(lens_check_readable(e.gpu.get(), &r), 0);
	EXPECT_EQ(r.no_regs, 0u);
	EXPECT_EQ(r.no_entries, 0u);
	EXPECT_EQ(chip_text(e.gpu.get(), &r).find("not readable"), std::string::npos);
}

// One page, that of runlist 0: the others stay readable.
TEST_F(Protected, OneListInProtectedMemoryIsAnErrorForThatListOnly)
{
	u64 base = runlist(0)["base"];
	fault({{"kind", "protected"}, {"addr", base}, {"bytes", 4096}});
	Snap refused(e, 0), open(e, 1);
	EXPECT_EQ(refused.err, -EIO);
	EXPECT_EQ(open.err, 0);
	// Its registers are still shown.
	EXPECT_TRUE(lens_entries_are_unreadable(&refused.snap, refused.err));
	EXPECT_EQ(refused.snap.regs.base, base);
	EXPECT_EQ(refused.snap.regs.length, 15); // demo-gh100.json: five TSGs with ten channels
	EXPECT_EQ(refused.snap.n, 0u);
	EXPECT_FALSE(lens_entries_are_unreadable(&open.snap, open.err));
	ASSERT_EQ(lens_check_readable(e.gpu.get(), &r), 0);
	EXPECT_EQ(r.no_entries, 1u);
	EXPECT_EQ(r.entries_err, -EIO);
	EXPECT_NE(chip_text(e.gpu.get(), &r).find("\nRunlist entries: not readable, protected memory, 1 of "),
		  std::string::npos);
	lens_ref ref{0, 8};
	int id;
	EXPECT_EQ(lens_tsg_switch_to(e.gpu.get(), &ref, &id), -EIO); // it must read the list
	fault({{"kind", "none"}});
	EXPECT_EQ(Snap(e, 0).err, 0);
}

// SUBMIT_BASE_LO of runlist 0: 0x80 behind the runlist's registers (open-gpu-doc ampere/ga100/dev_runlist.ref.txt).
TEST_F(Protected, LockedRegistersAreAnErrorForThatRunlistOnly)
{
	u32 pri = lens_gpu_find_runlist(e.gpu.get(), 0)->base;
	fault({{"kind", "bad-read"}, {"off", pri + 0x80}, {"value", 0xbadf5040u}});
	Snap locked(e, 0);
	EXPECT_EQ(locked.err, -EIO);
	EXPECT_FALSE(lens_entries_are_unreadable(&locked.snap, locked.err)); // nothing is known of it
	EXPECT_EQ(Snap(e, 1).err, 0);
	ASSERT_EQ(lens_check_readable(e.gpu.get(), &r), 0);
	EXPECT_EQ(r.no_regs, 1u);
	EXPECT_EQ(r.no_entries, 0u);
	EXPECT_NE(chip_text(e.gpu.get(), &r).find("\nRunlist registers: not readable, 1 of "), std::string::npos);
}

// At load: CHANNEL_CONFIG +4, DOORBELL_CONFIG +8, PBDMA_CONFIG +0x10 (open-gpu-doc ampere/ga100/dev_runlist.ref.txt). The
// GH100 of the profile has 20 runlists; 0 is that of graphics and GRCEs.
TEST_F(Protected, RegistersLockedAtLoadAreAnErrorForThatRunlistOnly)
{
	u32 pri = lens_gpu_find_runlist(e.gpu.get(), 0)->base;
	for (u32 reg : {0x4u, 0x10u}) {
		fault({{"kind", "bad-read"}, {"off", pri + reg}, {"value", 0xbadf5040u}});
		ASSERT_EQ(e.attach(), 0) << reg;
		fault({{"kind", "none"}}); // what was not read at load is not known later either
		EXPECT_EQ(e.topo().n_runlists, 20) << reg;
		EXPECT_EQ(e.topo().engines[0].runlist, 0) << reg;
		EXPECT_EQ(Snap(e, 0).err, -EIO) << reg;
		EXPECT_EQ(Snap(e, 1).err, 0) << reg;
		ASSERT_EQ(lens_check_readable(e.gpu.get(), &r), 0);
		EXPECT_EQ(r.no_regs, 1u) << reg;
		EXPECT_NE(chip_text(e.gpu.get(), &r).find("\nRunlist registers: not readable, 1 of 20 runlists\n"),
			  std::string::npos);
		e.emu->reset_counts();
		lens_ref locked{0, 8}, bare{LENS_NONE, 8}, open{1, 8};
		int id;
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &locked, false, &id), -EIO) << reg;
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &bare, false, &id), -EIO) << reg; // its runlist is unknown
		EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &locked, &id), -EIO) << reg;
		EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), 0), -EIO) << reg;
		EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), 0), -EIO) << reg;
		EXPECT_EQ(e.emu->counts().all_writes(), 0u) << reg;
		EXPECT_EQ(lens_channel_enable(e.gpu.get(), &open, false, &id), 0) << reg;
		EXPECT_EQ(lens_runlist_preempt(e.gpu.get(), 1), 0) << reg;
	}
}

TEST_F(Protected, ARunlistWhoseNumberIsLockedHasNoFileAndIsCounted)
{
	u32 pri = lens_gpu_find_runlist(e.gpu.get(), 0)->base;
	fault({{"kind", "bad-read"}, {"off", pri + 0x8}, {"value", 0xbadf5040u}});
	ASSERT_EQ(e.attach(), 0);
	EXPECT_EQ(e.topo().n_runlists, 19);
	EXPECT_EQ(lens_gpu_find_runlist(e.gpu.get(), 0), nullptr);
	EXPECT_EQ(Snap(e, 1).err, 0);
	u32 unnumbered = 0; // graphics and two GRCEs: they are listed, without a runlist
	for (u32 i = 0; i < e.topo().n_engines; i++)
		unnumbered += e.topo().engines[i].runlist_base == pri && e.topo().engines[i].runlist == -1;
	EXPECT_EQ(unnumbered, 3u);
	ASSERT_EQ(lens_check_readable(e.gpu.get(), &r), 0);
	EXPECT_EQ(r.no_regs, 1u);
	EXPECT_NE(chip_text(e.gpu.get(), &r).find("\nRunlist registers: not readable, 1 of 20 runlists\n"),
		  std::string::npos);
	e.emu->reset_counts();
	lens_ref locked{0, 8}, bare{LENS_NONE, 8}, open{1, 8};
	int id;
	EXPECT_EQ(lens_channel_enable(e.gpu.get(), &locked, false, &id), -EIO);
	EXPECT_EQ(lens_channel_enable(e.gpu.get(), &bare, false, &id), -EIO);
	EXPECT_EQ(lens_tsg_preempt(e.gpu.get(), &bare, &id), -EIO);
	EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), 0), -EIO);
	EXPECT_EQ(lens_runlist_resubmit(e.gpu.get(), 128), -ERANGE);
	EXPECT_EQ(e.emu->counts().all_writes(), 0u);
	EXPECT_EQ(lens_channel_enable(e.gpu.get(), &open, false, &id), 0);
}

TEST_F(Protected, AGpuRemovedWhileItsRunlistsAreReadIsNoDevice)
{
	fault({{"kind", "all-ones"}});
	EXPECT_EQ(e.gpu->chip->host->read_runlists(e.gpu.get()), -ENODEV);
}

TEST_F(Protected, ARemovedGpuIsNoDevice)
{
	fault({{"kind", "all-ones"}});
	EXPECT_EQ(lens_check_readable(e.gpu.get(), &r), -ENODEV);
}

TEST(ChipText, NamesUnpublishedAndLockedParts)
{
	Fake f(lens_chip_gk10x);
	f.gpu->topo.gpcs_err = -EOPNOTSUPP;
	f.gpu->topo.ce_err = -EOPNOTSUPP;
	EXPECT_NE(chip_text(f.gpu.get(), nullptr).find("\nUnpublished:  GPC fuses, copy engine maps\n"),
		  std::string::npos);
	f.gpu->topo.ce_err = -EIO;
	std::string text = chip_text(f.gpu.get(), nullptr);
	EXPECT_NE(text.find("\nUnpublished:  GPC fuses\n"), std::string::npos) << text;
	EXPECT_NE(text.find("\nNot readable: copy engine maps\n"), std::string::npos) << text;
	f.gpu->topo.n_runlists = 14;
	lens_readable r{0, 12, -EACCES, 0};
	EXPECT_NE(chip_text(f.gpu.get(), &r).find("\nRunlist entries: not readable, vram=off, 12 of 14 runlists\n"),
		  std::string::npos);
}

TEST(ChipText, OfAnUnknownChipHasOnlyCertainValues)
{
	Fake f(lens_chip_ga100);
	f.regs[0] = 0x17d000a1;
	ASSERT_EQ(lens_gpu_identify(f.gpu.get(), f.io()), 0);
	EXPECT_EQ(chip_text(f.gpu.get(), nullptr), "Chip:         GA10x (0x17d)\n"
						   "Architecture: Ampere\n"
						   "Device:       0000:01:00.0\n"
						   "BOOT_0:       0x17d000a1\n"
						   "Revision:     A1\n"
						   "Unknown chip: only the device table is read, as of GA10x\n");
}

} // namespace
