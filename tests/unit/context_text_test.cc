// SPDX-License-Identifier: GPL-2.0
// The text of runlistY about contexts, as literals; and the contexts that the emulator's driver created on every chip, as
// the core reads them and as the chip itself finds them through its own tables (command "state").
// Widths: RTAS'24 Listing 1, 21 characters between the bars.
#include "support/core/contexts.hpp"
#include "support/core/emulated.hpp"

#include <array>
#include <gtest/gtest.h>
#include <map>

namespace {

using test::AT_67, test::AT_69;
using test::Emulated;
using test::OneOfTuring;
using test::Snap;

// From the first line of the instance block on.
std::string text_below(const std::string &text)
{
	size_t at = text.find("  |= Instance Block");
	return at == std::string::npos ? "" : text.substr(at);
}

TEST(ContextText, OfVoltaAndLaterHasSubcontextsAndTheContextImage)
{
	OneOfTuring t;
	t.vid[t.block(1) + 0xf8] = 0x0010210000000000;  // VEID 33
	t.vid[t.block(1) + 0x298] = 0x8000000200000023; // five of 64
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(text_below(t.text()), R"(  |= Instance Block ====|
  | PDB:  0x000000010000|
  | Target:          vid|
  | Pages:            v2|
  | VEID:             33|
  | Subcontexts:       5|
  |= Context State =====|
  | VA:   0x001234569000|
  | Ctx. ID:  0x00000077|
  | Gfx. Preemption:GFXP|
  | Cmp. Preemption:CILP|
  | #WFI Saves:       11|
  | #CTA Saves:       12|
  | #GFXP Saves:      13|
  | #CILP Saves:      14|
  +---------------------+
)");
}

TEST(ContextText, OfPascalHasNoSubcontexts)
{
	OneOfTuring t(lens_chip_gp10x);
	t.write_instance_block(t.block(1), AT_69);
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(text_below(t.text()), R"(  |= Instance Block ====|
  | PDB:  0x000000010000|
  | Target:          vid|
  | Pages:            v2|
  |= Context State =====|
  | VA:   0x001234569000|
  | Ctx. ID:  0x00000077|
  | Gfx. Preemption:GFXP|
  | Cmp. Preemption:CILP|
  | #WFI Saves:       11|
  | #CTA Saves:       12|
  | #GFXP Saves:      13|
  | #CILP Saves:      14|
  +---------------------+
)");
}

TEST(ContextText, OfMaxwellEndsWhereNothingIsPublished)
{
	OneOfTuring t(lens_chip_gm20x);
	t.vid[t.block(1) + 0x200] = 0x0000000000010802; // TARGET 2, 64 KiB big pages
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(text_below(t.text()), R"(  |= Instance Block ====|
  | PDB:  0x000000010000|
  | Target:      sys coh|
  | Pages:        v1 64K|
  |= Context State =====|
  |        not published|
  +---------------------+
)");
}

TEST(ContextText, SaysWhyAPartIsMissing)
{
	OneOfTuring t;
	t.set_instance_address(1, 0, 0);
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(text_below(t.text()), "  |= Instance Block ====|\n"
					"  |                 none|\n"
					"  +---------------------+\n");
	t.set_instance_address(1, 1, t.block(1));
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(text_below(t.text()), "  |= Instance Block ====|\n"
					"  |           unreadable|\n"
					"  +---------------------+\n");
	t.set_instance_address(1, 0, t.block(1));
	t.vid[t.block(1) + 0x210] = 0; // a channel of a copy engine, say
	ASSERT_EQ(t.collect(), 0);
	EXPECT_EQ(text_below(t.text()), R"(  |= Instance Block ====|
  | PDB:  0x000000010000|
  | Target:          vid|
  | Pages:            v2|
  | VEID:              0|
  | Subcontexts:       0|
  |= Context State =====|
  |                 none|
  +---------------------+
)");
}

TEST(ContextText, IsNotThereWhenNoContextsWereCollected)
{
	OneOfTuring t;
	t.snap.context = nullptr;
	EXPECT_EQ(t.text().find("Instance Block"), std::string::npos);
	EXPECT_NE(t.text().find("Channel Info 16"), std::string::npos);
}

/* -- every chip, in its own memory and in the machine's -- */

struct Placed {
	const char *profile;
	int published; // 0, or what the context image of such a chip costs
};

class ContextsOf : public testing::TestWithParam<std::tuple<Placed, bool>> {};

TEST_P(ContextsOf, AreFoundWhereTheChipItselfFindsThem)
{
	const auto &[chip, sys] = GetParam();
	Emulated e(chip.profile);
	e.give_system_memory();
	nlohmann::json scenario = test::load_json("scenarios/demo-" + std::string(chip.profile) + ".json");
	if (sys)
		scenario["memory"] = "sys";
	e.emu->load_scenario(scenario);
	ASSERT_EQ(e.attach(), 0);
	Snap s(e, 0, true);
	ASSERT_EQ(s.err, 0);
	nlohmann::json state = e.emu->control({{"cmd", "state"}});
	int context_images = 0, modes = 0;
	for (u32 i = 0; i < s.snap.n; i++) {
		lens_entry entry;
		e.gpu->chip->host->decode_entry(&s.snap.entries[i * e.gpu->chip->entry_words], &entry);
		if (entry.is_tsg)
			continue;
		const lens_context &c = s.snap.context[i];
		EXPECT_EQ(c.err, 0) << entry.id;
		for (const auto &channel : state["channels"]) {
			if (channel["runlist"] != 0 || channel["id"] != entry.id || !channel.contains("context"))
				continue;
			context_images++;
			EXPECT_EQ(c.image_err, chip.published) << entry.id;
			if (chip.published)
				continue;
			EXPECT_EQ(c.addr, u64{channel["context"]}) << entry.id;
			EXPECT_EQ(c.graphics, u32{channel["graphics_preemption"]}) << entry.id;
			EXPECT_EQ(c.compute, u32{channel["compute_preemption"]}) << entry.id;
			modes |= 1 << c.compute;
		}
	}
	EXPECT_GE(context_images, 3);
	if (!chip.published) {
		EXPECT_NE(modes & (modes - 1), 0) << "more than one mode occurs";
	}
}

constexpr Placed PLACED[] = {
	{"gk104", -EOPNOTSUPP}, {"gk110", -EOPNOTSUPP}, {"gm107", -EOPNOTSUPP}, {"gm204", -EOPNOTSUPP},
	{"gm20b", -EOPNOTSUPP}, {"gp100", 0},           {"gp102", 0},           {"gp106", 0},
	{"gp10b", 0},           {"gv100", 0},           {"gv11b", 0},           {"tu102", 0},
	{"tu104", 0},           {"tu116", 0},           {"tu117", 0},           {"ga100", 0},
	{"ga102", 0},           {"ga10b", 0},           {"ad102", 0},           {"ad104", 0},
	{"gh100", 0},           {"gb100", -EOPNOTSUPP},
};

INSTANTIATE_TEST_SUITE_P(Chips, ContextsOf, testing::Combine(testing::ValuesIn(PLACED), testing::Bool()),
			 [](const auto &info) {
	return std::string(std::get<0>(info.param).profile) + (std::get<1>(info.param) ? "_sys" : "_own");
});

// Each part in either memory, with pointers from one to the other. System memory is not read while the machine is
// stopped (Emulated refuses it). Stops: one for each pass that begins in GPU memory. Seen failing without the second
// pass of run_range(): -EAGAIN instead of contexts.
TEST(MixedMemory, ContextsAreTheSameAndSystemMemoryIsReadWithoutAStop)
{
	const struct {
		std::vector<std::string> sys;
		unsigned stops;
	} rows[] = {
		{{}, 3},
		{{"instances"}, 2},
		{{"tables"}, 2},
		{{"contexts"}, 2},
		{{"instances", "contexts"}, 1},
		{{"instances", "tables", "contexts"}, 0},
	};
	for (const char *profile : {"gp106", "tu102", "ga100", "gh100"}) {
		std::vector<std::array<u32, 5>> expected;
		for (const auto &row : rows) {
			Emulated e(profile);
			e.give_system_memory();
			nlohmann::json scenario = test::load_json("scenarios/demo-" + std::string(profile) + ".json");
			for (const std::string &part : row.sys)
				scenario["memory"][part] = "sys";
			std::string which = profile + testing::PrintToString(row.sys);
			e.emu->load_scenario(scenario);
			ASSERT_EQ(e.attach(), 0);
			Snap s(e, 0, true);
			ASSERT_EQ(s.err, 0);
			EXPECT_EQ(e.stops, row.stops) << which;
			std::vector<std::array<u32, 5>> found;
			for (u32 i = 0; i < s.snap.n; i++) {
				const lens_context &c = s.snap.context[i];
				EXPECT_EQ(c.err, 0) << which << i;
				EXPECT_EQ(c.image_err, 0) << which << i;
				found.push_back({c.veid, c.graphics, c.compute, c.context_id, c.ctl});
			}
			if (row.sys.empty())
				expected = found;
			EXPECT_EQ(found, expected) << which;
			EXPECT_GT(found.size(), 5U);
		}
	}
}

// scenarios/contexts.json: TSG 1 of channels 16 to 19 has subcontexts 0, 1, 5 and 33; TSG 4 of 28 and 29 has 0 and 63.
TEST(Subcontexts, AreThoseOfTheScenario)
{
	for (const char *profile : {"gv100", "tu104", "ga100", "ga10b", "ad104", "gh100"}) {
		Emulated e(profile);
		e.give_system_memory();
		e.emu->load_scenario(test::load_json("scenarios/contexts.json"));
		ASSERT_EQ(e.attach(), 0);
		Snap s(e, 0, true);
		ASSERT_EQ(s.err, 0) << profile;
		std::map<u32, const lens_context *> by_id;
		for (u32 i = 0; i < s.snap.n; i++) {
			lens_entry entry;
			e.gpu->chip->host->decode_entry(&s.snap.entries[i * 4], &entry);
			if (!entry.is_tsg)
				by_id[entry.id] = &s.snap.context[i];
		}
		ASSERT_EQ(by_id.size(), 9u) << profile;
		EXPECT_EQ(by_id[16]->subcontexts, 0x0000000200000023u) << profile;
		EXPECT_EQ(by_id[28]->subcontexts, 0x8000000000000001u) << profile;
		EXPECT_EQ(by_id[16]->veid, 0) << profile;
		EXPECT_EQ(by_id[18]->veid, 5) << profile;
		EXPECT_EQ(by_id[19]->veid, 33) << profile;
		EXPECT_EQ(by_id[29]->veid, 63) << profile;
		EXPECT_EQ(by_id[16]->addr, by_id[19]->addr) << profile;     // one context image for the TSG,
		EXPECT_NE(by_id[16]->wfi_va, by_id[19]->wfi_va) << profile; // through a header each
		EXPECT_NE(by_id[16]->addr, by_id[20]->addr) << profile;
		EXPECT_EQ(by_id[16]->compute, 2u) << profile;  // "cilp"
		EXPECT_EQ(by_id[24]->compute, 1u) << profile;  // "cta"
		EXPECT_EQ(by_id[20]->graphics, 1u) << profile; // "gfxp"
		EXPECT_EQ(by_id[24]->context_id, 3u) << profile;
	}
}

} // namespace
