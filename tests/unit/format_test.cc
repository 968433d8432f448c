// SPDX-License-Identifier: GPL-2.0
// The text of /proc files, whole and literal. Labels and boxes of runlists: Listing 1 of RTAS'24, everything between
// the bars 21 characters wide; what this project adds stands after the published labels. Runlists are given as raw
// words (bit numbers: entry_test.cc, channel_test.cc), so no GPU is involved but where whole tables are printed.
#include "support/core/emulated.hpp"
#include "support/core/fake.hpp"
#include "format.h"

#include <gtest/gtest.h>
#include <sstream>

namespace {

using test::Emulated;
using test::Fake;

class Text {
public:
	Text() = default;
	Text(const Text &) = delete;
	~Text() { lens_text_free(&t); }
	std::string str() const { return t.buf ? std::string(t.buf, t.len) : std::string(); }
	lens_text t{};
};

// A snapshot made of words: entries, and two state words for each.
struct Words {
	Words(const lens_chip &chip, std::vector<u32> e, std::vector<u32> s = {})
		: fake(chip), entries(std::move(e)), state(std::move(s))
	{
		snap.n = snap.cap = u32(entries.size() / chip.entry_words);
		state.resize(size_t{snap.n} * 2);
		err.resize(snap.n);
		snap.entries = entries.data();
		snap.state = state.data();
		snap.err = err.data();
	}
	std::string whole()
	{
		Text t;
		lens_format_runlist(&t.t, fake.gpu.get(), &snap);
		return t.str();
	}
	// Without the line with the location of the list.
	std::string text()
	{
		std::string all = whole();
		return all.substr(all.find('\n') + 1);
	}
	Fake fake;
	std::vector<u32> entries, state;
	std::vector<s16> err;
	lens_runlist_snap snap{};
};

// TSG 1: scale 3, timeout 128, one channel; channel 1, runqueue 0, instance block at 0x123000, enabled, bound, on PBDMA
// and engine, busy. The time slice is 128 << 3 units of 1024 ns.
TEST(RunlistText, OfAPfifoChipHasTheLabelsOfListing1)
{
	Words w(lens_chip_gp10x, {0x0600e001, 0, 0x00000001, 0x00000123}, {0, 0, 0x80000123, 0x16000001});
	EXPECT_EQ(w.text(), R"(+---- TSG Entry 1  ---+
| Scale: 3            |
| Timeout: 128        |
| Length: 1           |
| Slice:   1048.576us |
+---------------------+
  +- Channel Info 1    -+
  | Enabled:           1|
  | Next:              0|
  | Force CTX Reload:  0|
  | Enable set:        0|
  | Enable clear:      0|
  | PBDMA Faulted:     0|
  | ENG Faulted:       0|
  | Status:            6|
  |         on pbdma+eng|
  | Busy:              1|
  | Bound:             1|
  | Runqueue:          0|
  | Inst: 0x000000123000|
  | Target:          vid|
  +---------------------+
)");
}

// TSG 42 of a chip with channel RAM: scale 15, timeout 255 (the longest slice), one channel; channel 2047, runqueue 1,
// instance block at 0xabcde000 in coherent system memory; next, faulted, pending, reload, acquire failed.
TEST(RunlistText, OfAChipWithChannelRamShowsItsBitsToo)
{
	Words w(lens_chip_gh100, {0xff0f0001, 1, 42, 0, 0x00000022, 0, 0xabcde7ff, 0}, {0, 0, 0x00001336, 0});
	EXPECT_EQ(w.text(), R"(+---- TSG Entry 42 ---+
| Scale: 15           |
| Timeout: 255        |
| Length: 1           |
| Slice:8556380.160us |
+---------------------+
  +- Channel Info 2047 -+
  | Enabled:           1|
  | Next:              1|
  | Force CTX Reload:  1|
  | Enable set:        0|
  | Enable clear:      0|
  | PBDMA Faulted:     1|
  | ENG Faulted:       1|
  | Status:            4|
  |      acquire, reload|
  | Busy:              0|
  | On PBDMA:          0|
  | On ENG:            0|
  | Pending:           1|
  | PBDMA Busy:        0|
  | ENG Busy:          0|
  | Acquire Fail:      1|
  | Runqueue:          1|
  | Inst: 0x0000abcde000|
  | Target:      sys coh|
  +---------------------+
)");
}

TEST(RunlistText, BeginsWithTheLocationOfTheList)
{
	Words w(lens_chip_gp10x, {0x0600e001, 0, 1, 0});
	w.snap.regs = {.base = 0x180000000, .target = 0, .length = 2, .pending = false};
	EXPECT_TRUE(w.whole().starts_with("List: base 0x000180000000, target vid, entries 2, pending 0\n+---- TSG "));
	w.snap.regs = {.base = 0xfffffff000, .target = 3, .length = 65535, .pending = true};
	EXPECT_TRUE(w.whole().starts_with("List: base 0x00fffffff000, target sys ncoh, entries 65535, pending 1\n"));
}

// A list in memory that is protected from the CPU: its registers are shown, and that it was not read, instead of an
// empty list.
TEST(RunlistText, ListWhoseEntriesCannotBeReadIsShownByItsRegisters)
{
	for (int err : {-EIO, -EACCES, -EOPNOTSUPP}) {
		Words w(lens_chip_gh100, {});
		w.snap.regs = {.base = 0x2000, .target = 2, .length = 7, .pending = true};
		w.snap.has_regs = true;
		w.snap.entries_err = s16(err);
		EXPECT_EQ(w.whole(), std::string("List: base 0x000000002000, target sys coh, entries 7, pending 1\n"
						 "! submitted, not yet committed by the GPU\n"
						 "! entries not readable") +
					     (err == -EACCES ? ": vram=off\n" : "\n"));
	}
}

TEST(RunlistText, AddressOfAnInstanceBlockIsOfTwoWords)
{
	Words w(lens_chip_gh100, {0x80030001, 1, 5, 0, 0, 0, 0xabcde001, 0x12});
	EXPECT_NE(w.text().find("| Inst: 0x0012abcde000|"), std::string::npos);
}

TEST(RunlistText, TimeSliceOfZeroIsShownAsOneUnit)
{
	Words w(lens_chip_gp10x, {0x0401e00c, 0, 0x00000001, 0});
	EXPECT_EQ(w.text().substr(0, 24 * 7), R"(+---- TSG Entry 12 ---+
| Scale: 7            |
| Timeout: 0          |
| Length: 1           |
| Slice:      1.024us |
| (0 counts as 1024ns)|
+---------------------+
)");
}

// PCCSR's word names the instance block that hardware uses; the entry's own copy is not shown then.
TEST(RunlistText, InstanceBlockOfAPfifoChipIsThatOfItsChannelWord)
{
	Words w(lens_chip_tu10x, {0x80030001, 1, 5, 0, 0, 0, 0xabcde001, 0}, {0, 0, 0xb0000777, 0});
	EXPECT_NE(w.text().find("| Inst: 0x000000777000|\n  | Target:     sys ncoh|"), std::string::npos) << w.text();
}

TEST(RunlistText, ChannelWithoutReadableStateSaysSo)
{
	Words w(lens_chip_gh100, {0x80030001, 2, 5, 0, 0, 0, 0x1007, 0, 0, 0, 0x1008, 0});
	w.err[1] = -EIO;
	w.err[2] = -ERANGE;
	EXPECT_EQ(w.text().substr(24 * 6), R"(  +- Channel Info 7    -+
  | state unreadable    |
  | Runqueue:          0|
  | Inst: 0x000000001000|
  | Target:          vid|
  +---------------------+
  +- Channel Info 8    -+
  | id beyond this chip |
  | Runqueue:          0|
  | Inst: 0x000000001000|
  | Target:          vid|
  +---------------------+
)");
}

// Entries of 8 bytes have no target; if a channel's PCCSR word cannot be read, it is unknown.
TEST(RunlistText, TargetOfAnInstanceBlockMayBeUnknown)
{
	Words w(lens_chip_gp10x, {0x0600e001, 0, 0x00000001, 0x00000123});
	w.err[1] = -EIO;
	EXPECT_EQ(w.text().substr(24 * 6), R"(  +- Channel Info 1    -+
  | state unreadable    |
  | Runqueue:          0|
  | Inst: 0x000000123000|
  | Target:      unknown|
  +---------------------+
)");
}

std::vector<std::string> notes_of(const std::string &text)
{
	std::vector<std::string> out;
	std::istringstream in(text);
	for (std::string line; std::getline(in, line);)
		if (line[0] == '!')
			out.push_back(line);
	return out;
}

using Notes = std::vector<std::string>;

TEST(RunlistText, EmptyListIsMarkedEmpty)
{
	EXPECT_EQ(Words(lens_chip_gp10x, {}).text(), "! empty\n");
}

TEST(RunlistText, GoodListHasNoNote)
{
	EXPECT_EQ(notes_of(Words(lens_chip_gp10x, {0x0600e001, 0, 1, 0}).text()), Notes{});
	EXPECT_EQ(notes_of(Words(lens_chip_gh100, {0x80030001, 1, 5, 0, 0, 0, 1, 0}).text()), Notes{});
}

TEST(RunlistText, TsgCutShortByAnotherOrByTheEndIsNoted)
{
	Words w(lens_chip_gh100, {0x80030001, 3, 5, 0, 0, 0, 1, 0, 0x80030001, 2, 6, 0, 0, 0, 2, 0});
	EXPECT_EQ(notes_of(w.text()),
		  (Notes{"! TSG 5 says 3 channels, 1 follow", "! TSG 6 says 2 channels, 1 follow"}));
}

TEST(RunlistText, TsgLongerThanLegalIsNoted)
{
	EXPECT_EQ(notes_of(Words(lens_chip_gp10x, {0x8600e001, 0}).text()),
		  (Notes{"! TSG 1: no more than 32 channels are legal", "! TSG 1 says 33 channels, 0 follow"}));
	EXPECT_EQ(notes_of(Words(lens_chip_gh100, {0x80030001, 129, 5, 0}).text()),
		  (Notes{"! TSG 5: no more than 128 channels are legal", "! TSG 5 says 129 channels, 0 follow"}));
}

TEST(RunlistText, PendingAndTornListsAreNoted)
{
	Words w(lens_chip_gp10x, {0x0600e001, 0, 1, 0});
	w.snap.regs.pending = true;
	w.snap.torn = true;
	EXPECT_EQ(notes_of(w.text()), (Notes{"! submitted, not yet committed by the GPU",
					     "! torn: the list was replaced again and again while it was read"}));
}

// On 8-byte chips a channel outside of any TSG is legal; it is not indented.
TEST(RunlistText, BareChannelOfAnOlderChipIsNotIndented)
{
	std::string text = Words(lens_chip_gp10x, {0x00000011, 0, 0x0600e001, 0, 1, 0, 0x00000012, 0}).text();
	EXPECT_EQ(text.substr(0, 24), "+- Channel Info 17   -+\n");
	EXPECT_NE(text.find("\n  +- Channel Info 1    -+\n"), std::string::npos);
	EXPECT_NE(text.find("\n+- Channel Info 18   -+\n"), std::string::npos);
	EXPECT_EQ(notes_of(text), Notes{});
}

// From Volta on hardware refuses it: open-gpu-doc ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_INTR_BAD_TSG_CODE
// (expected TSG header; zero length). The head of format_runlist.c promises a line for it.
TEST(RunlistText, ChannelOutsideOfATsgIsNotedWhereItIsIllegal)
{
	EXPECT_EQ(notes_of(Words(lens_chip_gh100, {0, 0, 17, 0}).text()).size(), 1u);
	EXPECT_EQ(notes_of(Words(lens_chip_tu10x, {0x80030001, 1, 5, 0, 0, 0, 1, 0, 0, 0, 17, 0}).text()).size(), 1u);
}

TEST(RunlistText, TsgWithoutChannelsIsNoted)
{
	EXPECT_EQ(notes_of(Words(lens_chip_gh100, {0x80030001, 0, 5, 0}).text()).size(), 1u);
	EXPECT_EQ(notes_of(Words(lens_chip_gp10x, {0x0200e001, 0}).text()).size(), 1u);
}

// "Everything between the bars is 21 characters wide", for whatever the words can hold.
TEST(RunlistText, EveryLineHasTheSameWidthWhateverTheWordsHold)
{
	for (const lens_chip *chip : {&lens_chip_gp10x, &lens_chip_tu10x, &lens_chip_gh100})
		for (u32 id : {0u, 9u, 10u, 99u, 100u, 999u, 1000u, 4095u}) {
			std::vector<u32> e =
				chip->entry_words == 2
					? std::vector<u32>{0x07fff000 | id, 0, id | 0x4000, 0xfffffff}
					: std::vector<u32>{0xff0f0001, 1, id, 0, 0x32, 0, 0xfffff000 | id, 0xff};
			Words w(*chip, e, {0, 0, 0xffffffff, 0xffffffff});
			std::istringstream in(w.text());
			for (std::string line; std::getline(in, line);) {
				std::string box = line[0] == ' ' ? line.substr(2) : line;
				EXPECT_EQ(box.size(), 23u) << chip->name << " id " << id << ": " << line;
			}
		}
}

TEST(DeviceInfoText, HasOneRowForEachEngineUnderItsHeads)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	Text t;
	lens_format_device_info(&t.t, e.gpu.get());
	EXPECT_EQ(t.str(), // engines and runlists: Table II; the other numbers are the profile's choice
		  "Engine                                        Type Inst Runlist Engine Intr Reset Fault  Registers "
		  "Runlist at\n"
		  "Graphics/Compute 0                            0x00    0       0      0   12    12     0   0x400000  "
		  "        -\n"
		  "[Graphics] Copy Engine 0 (GRCE0/LCE0)         0x13    0       0      7    5     6    21   0x104000  "
		  "        -\n"
		  "[Graphics] Copy Engine 1 (GRCE1/LCE1)         0x13    1       0      8    6     7    22   0x104000  "
		  "        -\n"
		  "Video Decoder 0 (NVDEC0)                      0x10    0       1      1   17    15     2   0x084000  "
		  "        -\n"
		  "Video Encoder 0 (NVENC0)                      0x0e    0       2      2   18    18    25   0x1c8000  "
		  "        -\n"
		  "Sequencer                                     0x0d    0       3      3   15    14    27   0x087000  "
		  "        -\n"
		  "Copy Engine 2 (LCE2)                          0x13    2       5      5    9    21    23   0x104000  "
		  "        -\n"
		  "Copy Engine 3 (LCE3)                          0x13    3       6      6   10    22    24   0x104000  "
		  "        -\n");
}

TEST(DeviceInfoText, ValuesThatTheTableLacksAreDashes)
{
	Fake f(lens_chip_gh100);
	lens_topology &t = f.gpu->topo;
	t.n_engines = 2;
	t.engines[0] = {26, 0, 0, -1, -1, -1, 61, -1, 0x8f0000, 0};
	t.engines[1] = {19, 4, 0, 10, 12, -1, -1, 0x2f, 0, 0xc00c00};
	Text text;
	lens_format_device_info(&text.t, f.gpu.get());
	std::istringstream in(text.str());
	std::string line;
	std::getline(in, line);
	std::getline(in, line);
	EXPECT_EQ(line, "Unknown (type 26) 0                           0x1a    0       -      -    -    61     -   "
			"0x8f0000          -");
	std::getline(in, line);
	EXPECT_EQ(line, "Copy Engine 4 (LCE4)                          0x13    4      10     12    -     -    47       "
			"   -   0xc00c00");
}

// Names as Tables II to IV print them; types by open-gpu-doc turing/tu104/dev_top.ref.txt and hw_top_*.h.
TEST(EngineNames, AreThoseOfThePublishedTables)
{
	const struct {
		u16 type;
		u8 inst;
		const char *name;
	} rows[] = {
		{0, 0, "Graphics/Compute 0"},
		{0, 1, "Graphics/Compute 1"},
		{16, 2, "Video Decoder 2 (NVDEC2)"},
		{14, 1, "Video Encoder 1 (NVENC1)"},
		{15, 0, "Video Encoder 1 (NVENC1)"},
		{13, 0, "Sequencer"},
		{19, 3, "Copy Engine 3 (LCE3)"},
		{21, 0, "JPEG Decoder 0 (NVJPG0)"},
		{22, 0, "Optical Flow Accelerator"},
		{1, 0, "Copy Engine 0"},
		{3, 0, "Copy Engine 2"},
		{255, 255, "Unknown (type 255) 255"},
	};
	Fake f(lens_chip_gh100);
	for (const auto &r : rows) {
		lens_engine e = {r.type, r.inst, 0, 5, -1, -1, -1, -1, 0, 0};
		char name[LENS_ENGINE_NAME];
		lens_engine_format_name(f.gpu.get(), &e, name);
		EXPECT_STREQ(name, r.name);
	}
}

std::string copy_topology(const char *chip)
{
	Emulated e(chip);
	EXPECT_EQ(e.attach(), 0);
	Text t;
	lens_format_copy_topology(&t.t, e.gpu.get(), &e.topo().ce);
	return t.str();
}

// GH100: resource manager of an H200, driver 580. TU102: reset values of turing/tu104/dev_ce.ref.txt. GP106, AD102: the
// profiles' assumption; of AD102 it is published that both GRCEs share (RTAS'24, section V).
TEST(CopyTopologyText, HasOneLineForEachCopyEngineWithEveryPceThatServesIt)
{
	EXPECT_EQ(copy_topology("gh100"),
		  "GRCE0 -> LCE02 (PCE12 PCE14)\n"
		  "GRCE1 -> LCE03 (PCE13 PCE15)\n"
		  "LCE02 -> PCE12 PCE14\n"
		  "LCE03 -> PCE13 PCE15\n"
		  "LCE04 -> PCE00 PCE01 PCE02 PCE03 PCE04 PCE05 PCE06 PCE07 PCE08 PCE09 PCE10 PCE11\n");
	EXPECT_EQ(copy_topology("tu102"), "GRCE0 -> GRCE1 (PCE00)\n"
					  "GRCE1 -> PCE00\n"
					  "LCE02 -> PCE02\n"
					  "LCE03 -> PCE03\n"
					  "LCE04 -> PCE01\n");
	EXPECT_EQ(copy_topology("ad102"), "GRCE0 -> LCE03 (PCE03)\n"
					  "GRCE1 -> LCE02 (PCE02)\n"
					  "LCE02 -> PCE02\n"
					  "LCE03 -> PCE03\n"
					  "LCE04 -> PCE04\n");
	EXPECT_EQ(copy_topology("gp106"), "GRCE0 -> PCE00\n"
					  "GRCE1 -> PCE01\n"
					  "LCE02 -> PCE02\n"
					  "LCE03 -> PCE03\n");
}

TEST(CopyTopologyText, EngineWithoutAPceHasNone)
{
	Fake f(lens_chip_tu10x);
	lens_topology &t = f.gpu->topo;
	t.n_engines = 1;
	t.engines[0] = {19, 2, 0, 5, 5, -1, -1, -1, 0, 0};
	t.ce.pce_map = 3;
	t.ce.lce_for_pce[0] = 0xf;
	t.ce.lce_for_pce[1] = 4;
	Text text;
	lens_format_copy_topology(&text.t, f.gpu.get(), &t.ce);
	EXPECT_EQ(text.str(), "LCE02 -> none\n");
}

// Logical TPC numbers run through the GPCs (RTAS'23, Fig. 5); 9, 8, 8, 8, 8, 9, 8, 8 enabled TPCs of 8 x 9: 18 digits.
TEST(TpcMapText, HasOneLineForEachGpcAsWideAsTheChip)
{
	Emulated e("gh100");
	ASSERT_EQ(e.attach(), 0);
	Text t;
	lens_format_tpc_map(&t.t, e.gpu.get(), nullptr);
	EXPECT_EQ(t.str(), "! known wrong: GPC by GPC, and this chip has another order\n"
			   "gpc 0: 0x0000000000000001ff\n"
			   "gpc 1: 0x00000000000001fe00\n"
			   "gpc 2: 0x000000000001fe0000\n"
			   "gpc 3: 0x0000000001fe000000\n"
			   "gpc 4: 0x00000001fe00000000\n"
			   "gpc 5: 0x000003fe0000000000\n"
			   "gpc 6: 0x0003fc000000000000\n"
			   "gpc 7: 0x03fc00000000000000\n");
}

TEST(TpcMapText, LeavesOutGpcsThatAreOffAndRoundsItsWidthUp)
{
	Fake f(lens_chip_tu10x);
	lens_topology &t = f.gpu->topo;
	t.num_gpcs = 3;
	t.num_tpc_per_gpc = 3; // nine TPCs: three digits
	t.gpc_mask = 2;
	t.tpc_mask[2] = 1;
	Text text;
	lens_format_tpc_map(&text.t, f.gpu.get(), nullptr);
	EXPECT_EQ(text.str(), "gpc 0: 0x007\ngpc 2: 0x018\n");
}

TEST(ChipText, NamesTheChipAndAssumptions)
{
	Emulated e("gp106");
	ASSERT_EQ(e.attach(), 0);
	Text t;
	lens_format_chip(&t.t, e.gpu.get(), "0000:01:00.0", nullptr);
	EXPECT_EQ(t.str(), "Chip:         GP106 (0x136)\n"
			   "Architecture: Pascal\n"
			   "Device:       0000:01:00.0\n"
			   "BOOT_0:       0x136000a1\n"
			   "Revision:     A1\n"
			   "Ids:          channels and TSGs count over the whole GPU\n"
			   "Assumed:      copy engine maps (not published for this chip)\n");
}

TEST(ChipText, SaysThatTheTpcOrderOfGh100IsKnownToBeWrong)
{
	const struct {
		const char *profile;
		bool assumed, wrong;
	} rows[] = {{"tu102", false, false}, {"ga100", true, false}, {"ga102", true, false},
		    {"ad102", true, false},  {"gh100", false, true}, {"gb100", false, false}};
	for (const auto &r : rows) {
		Emulated e(r.profile);
		ASSERT_EQ(e.attach(), 0);
		Text t;
		lens_format_chip(&t.t, e.gpu.get(), "x", nullptr);
		size_t assumed = t.str().find("\nAssumed: ");
		EXPECT_EQ(assumed != std::string::npos &&
				  t.str().find("logical TPC order (not published for this chip)\n", assumed) !=
					  std::string::npos,
			  r.assumed)
			<< t.str();
		EXPECT_EQ(t.str().find("\nKnown wrong:  logical TPC order, this chip has another\n") !=
				  std::string::npos,
			  r.wrong)
			<< t.str();
	}
}

TEST(ChipText, SaysThatEnginesAreMissing)
{
	Fake f(lens_chip_gb10x);
	Text none, some, both, table;

	lens_format_chip(&none.t, f.gpu.get(), "x", nullptr);
	EXPECT_EQ(none.str().find("Engines"), std::string::npos);
	f.gpu->topo.n_engines = 306;
	f.gpu->topo.dropped_engines = 12;
	f.gpu->topo.devices_err = -ENOSPC;
	lens_format_chip(&some.t, f.gpu.get(), "x", nullptr);
	EXPECT_NE(some.str().find("\nEngines:      12 are missing, no room for more than 306\n"), std::string::npos);
	EXPECT_EQ(some.str().find("not readable"), std::string::npos);
	f.gpu->topo.devices_err = -EIO;
	lens_format_chip(&both.t, f.gpu.get(), "x", nullptr);
	EXPECT_NE(both.str().find("\nEngines:      some may be missing, rows are not readable\n"
				  "Engines:      12 are missing"),
		  std::string::npos);
	f.gpu->topo.n_engines = 0;
	lens_format_device_info(&table.t, f.gpu.get());
	EXPECT_NE(table.str().find("\n! rows that cannot be read: engines, runlists may be missing\n"
				   "! no room for 12 more engines\n"),
		  std::string::npos);
}

// A buffer that has to grow in the middle of a line loses nothing.
TEST(Text, GrowsWithoutLosingAByte)
{
	Text t;
	std::string want;
	for (int i = 0; i < 3000; i++) {
		lens_text_add(&t.t, "%d %s\n", i, "some words");
		want += std::to_string(i) + " some words\n";
	}
	EXPECT_EQ(t.str(), want);
	std::string big(20000, 'x');
	lens_text_add(&t.t, "%s", big.c_str());
	EXPECT_EQ(t.str(), want + big);
	for (size_t n : {4094, 4095, 4096, 4097, 8191, 8192, 8193}) { // about the sizes that buffers have
		Text exact;
		std::string s(n - 1, 'y');
		lens_text_add(&exact.t, "%s", s.c_str());
		lens_text_add(&exact.t, "z");
		EXPECT_EQ(exact.str(), s + "z") << n;
	}
}

} // namespace
