// SPDX-License-Identifier: GPL-2.0
// Files and texts that gpulens never writes: each is refused, with its name, before it takes memory or time.
#include "gpulens/cmd/record.hpp"
#include "lib/base/format.hpp"
#include "lib/base/json_input.hpp"
#include "lib/model/isolation.hpp"
#include "lib/source/snapshot/snapshot.hpp"
#include "support/tools/thrown.hpp"
#include "uapi/gpulens.h"

#include <cstring>
#include <gtest/gtest.h>

namespace {

template <typename F> std::string error_of(F f)
{
	try {
		f();
	} catch (const std::exception &e) {
		return e.what();
	}
	return "";
}

// Seen failing without the check: the library's own exception, which names no file and ends the program with status 3.
TEST(Limits, ANumberBeyondADoubleIsBadInput)
{
	EXPECT_EQ(code_of([&] { tool::parse_json("[1e400]", "f.json"); }), tool::Error::Input);
	EXPECT_EQ(error_of([] { tool::parse_json("[1e400]", "f.json"); }), "f.json: [0]: 1e400 is out of range");
}

// Seen failing without the limit: 16 MB of brackets took 1.24 GB.
TEST(Limits, NestedListsAreLimited)
{
	std::string deep(1 << 20, '['), fits = std::string(64, '[') + std::string(64, ']');

	EXPECT_EQ(error_of([&] { tool::parse_json(deep, "f"); }), "f: lists and objects are nested more than 64 deep");
	EXPECT_EQ(error_of([&] { tool::parse_json(fits, "f"); }), "");
	EXPECT_EQ(error_of([&] { tool::parse_json("[\"" + deep + "\\\"[\", 1]", "f"); }), "") << "brackets of a string";
}

// Seen failing without the limit: 2600000h ended at once, because the sum with the clock's time was negative.
TEST(Limits, ADurationFitsIntoAClock)
{
	EXPECT_EQ(tool::parse_duration("8760h", 1), 31536000000000000U);
	for (const char *text : {"2562047h", "2600000h", "999999999h", "1e9h", "99999999999999999999"})
		EXPECT_EQ(tool::parse_duration(text, 1000000000), std::nullopt) << text;
}

// Records of 64 bytes behind a header.
class Snapshot {
public:
	Snapshot()
	{
		gpulens_chip c{};
		c.type = GPULENS_RECORD_CHIP;
		c.chip_id = 0x136;
		std::strcpy(c.name, "GP106");
		add(c);
	}

	template <typename T> void add(const T &record)
	{
		static_assert(sizeof(T) == 64);
		records_.append(reinterpret_cast<const char *>(&record), sizeof(record));
	}

	tool::Gpu gpu() const
	{
		gpulens_header h{};
		h.magic = GPULENS_MAGIC;
		h.version = 2;
		h.record_bytes = 64;
		h.records = static_cast<uint32_t>(records_.size() / 64);
		return tool::from_snapshot(std::string(reinterpret_cast<const char *>(&h), sizeof(h)) + records_, "s");
	}

private:
	std::string records_;
};

template <typename T> std::string refused_after(size_t most, uint16_t type, void (*change)(T &) = nullptr)
{
	Snapshot s;
	T record{};

	record.type = type;
	if (change)
		change(record);
	for (size_t i = 0; i < most; i++)
		s.add(record);
	EXPECT_EQ(error_of([&] { s.gpu(); }), "");
	s.add(record);
	return error_of([&] { s.gpu(); });
}

// The limits of the core (LENS_MAX_*). Seen failing without them: isolation took 3.6 s for 30,000 engines, plan 7.5 GB for
// 10,000 GPCs.
TEST(Limits, ASnapshotHasNoMoreThanAGpuCanHave)
{
	EXPECT_EQ(refused_after<gpulens_engine>(306, GPULENS_RECORD_ENGINE),
		  "the snapshot has more than 306 engines, which no GPU has");
	EXPECT_EQ(refused_after<gpulens_runlist>(64, GPULENS_RECORD_RUNLIST),
		  "the snapshot has more than 64 runlists, which no GPU has");
	EXPECT_EQ(refused_after<gpulens_gpc>(32, GPULENS_RECORD_GPC),
		  "the snapshot has more than 32 GPCs, which no GPU has");
	EXPECT_EQ(refused_after<gpulens_gpc>(0, GPULENS_RECORD_GPC, [](gpulens_gpc &g) { g.tpcs = 33; }),
		  "the snapshot has 33 TPCs from TPC 0 on in GPC 0, which no GPU has");
	EXPECT_EQ(refused_after<gpulens_pce>(0, GPULENS_RECORD_PCE, [](gpulens_pce &p) { p.id = 32; }),
		  "PCE 32 is beyond what chips have");
}

// Tegra's drivers list a TSG several times; its two channels count twice in all, not four times.
TEST(Limits, ATsgThatIsTwiceOnItsRunlistCountsOnce)
{
	tool::Gpu gpu;
	tool::Tsg tsg{.id = 5};
	tool::Runlist rl;
	tool::Channel c;

	c.state.enable = true;
	for (unsigned id : {8, 9}) {
		c.id = id;
		tsg.channels.push_back(c);
	}
	rl.tsgs = {tsg, tsg};
	c.id = 20;
	rl.outside = {c, c};
	gpu.runlists.push_back(rl);
	tool::Isolation i = tool::isolation_of(gpu);
	ASSERT_EQ(i.tasks.size(), 2U);
	EXPECT_EQ(i.tasks[0].tsg, 5);
	EXPECT_EQ(i.tasks[0].channels, 2U);
	EXPECT_EQ(i.tasks[0].enabled, 2U);
	EXPECT_EQ(i.tasks[1].channels, 1U);
}

} // namespace
