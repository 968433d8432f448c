// SPDX-License-Identifier: GPL-2.0
// The chips of all generations: each loads its demo scenario and runs it; and literal register words that were worked
// out by hand from the field lists (linux-nvgpu hw_*.h, open-gpu-doc, open-gpu-kernel-modules dev_top.h, nouveau
// gk104.c).
#include "common.hpp"
#include "support/generations.hpp"

#include <algorithm>
#include <map>
#include <set>

using namespace emu_test;

namespace {

class Generations : public testing::TestWithParam<std::string> {
protected:
	const std::string chip = GetParam();
	const test::ChipLiterals literals = test::find_literals(chip).second;
	json demo() const { return load_scenario_file("demo-" + chip); }
};

std::map<int, std::string> list_runlists(const std::string &chip)
{
	std::map<int, std::string> out;
	for (const auto &r : make_gpu(chip)->running())
		out[r.runlist] += r.engine + " ";
	return out;
}

} // namespace

TEST_P(Generations, demo_runs_on_each_of_its_runlists)
{
	Machine m(chip, demo());
	json state = send_command(*m.gpu, {{"cmd", "state"}});
	std::map<int, size_t> listed;
	for (const auto &rl : state["runlists"]) {
		EXPECT_EQ(rl["error"], 0) << rl;
		EXPECT_EQ(rl["pending"], false);
		listed[rl["id"]] = rl["tsgs"].size();
	}
	EXPECT_GE(listed[0], 5u); // TSGs 3 to 7
	m.gpu->advance(60'000'000);
	std::set<int> ran;
	json runtime = send_command(*m.gpu, {{"cmd", "runtime"}});
	for (const auto &t : runtime["tsgs"])
		if (t["ns"] > 0)
			ran.insert(int(t["runlist"]));
	for (const auto &[id, n] : listed)
		if (n) {
			EXPECT_TRUE(ran.count(id)) << "runlist " << id;
		}
}

TEST_P(Generations, demo_is_in_the_memory_of_the_chip)
{
	Machine m(chip, demo());
	json state = send_command(*m.gpu, {{"cmd", "state"}});
	ASSERT_FALSE(state["channels"].empty());
	for (const auto &c : state["channels"]) {
		EXPECT_EQ(c["inst_target"], literals.instance_target);
		uint64_t inst = c["inst"];
		EXPECT_EQ(literals.soc, inst >= 0x70000000 && inst < 0x71000000 && m.gpu->vidmem().size() == 0);
	}
}

TEST_P(Generations, a_whole_scenario_may_be_in_system_memory)
{
	json scenario = demo();
	scenario["memory"] = "sys";
	scenario["aperture"] = "noncoherent";
	Machine m(chip, scenario);
	json state = send_command(*m.gpu, {{"cmd", "state"}});
	std::set<uint64_t> contexts;
	for (const auto &c : state["channels"]) {
		EXPECT_EQ(c["inst_target"], 3);
		EXPECT_GE(uint64_t(c["inst"]), 0x70000000u);
		EXPECT_LT(uint64_t(c["inst"]), 0x71000000u);
		uint32_t word128;
		memcpy(&word128, m.ram.at(uint64_t(c["inst"]) + 0x200, 4), 4);
		EXPECT_EQ(word128 & 3, 3u) << "TARGET of the page directory";
		if (c.contains("context"))
			contexts.insert(uint64_t(c["context"]));
	}
	EXPECT_GE(contexts.size(), 3u) << "context images are reached through page tables in system memory";
	for (uint64_t at : contexts)
		EXPECT_TRUE(at >= 0x70000000 && at < 0x71000000);
	for (const auto &rl : state["runlists"])
		if (rl["length"] > 0) {
			EXPECT_EQ(rl["base_target"], 3);
			EXPECT_EQ(rl["error"], 0);
		}
}

TEST_P(Generations, bus_addresses_may_differ_from_physical_addresses)
{
	json scenario = demo();
	scenario["memory"] = "sys";
	scenario["sysmem"] = {{"base", 0x70000000}, {"bytes", 0x1000000}, {"bus", "0xfe0000000"}};
	Machine m(chip, scenario);
	json state = send_command(*m.gpu, {{"cmd", "state"}});
	uint64_t inst = state["channels"][0]["inst"];
	ASSERT_GE(inst, 0xfe0000000u);
	uint32_t signature;
	memcpy(&signature, m.ram.at(inst - 0xfe0000000 + 0x70000000 + 16, 4), 4);
	EXPECT_EQ(signature, 0xfaceu);
	EXPECT_EQ(send_command(*m.gpu, {{"cmd", "peek"}, {"ap", "sys"}, {"addr", 0x70000000}})["words"][0], 0xbad0b000u)
		<< "behind an IOMMU the machine's physical addresses are not mapped";
}

INSTANTIATE_TEST_SUITE_P(Chips, Generations, testing::ValuesIn(test::profiles_with_host()),
			 [](const auto &info) { return info.param; });

TEST(Identity, boot_words_of_all_generations)
{
	EXPECT_GE(test::all_emulated().size(), 23u);
	for (const test::ChipLiterals &l : test::all_emulated()) {
		auto gpu = make_gpu(l.profile);
		EXPECT_EQ(rd32(*gpu, 0x0), l.boot0) << l.profile;
		EXPECT_EQ(rd32(*gpu, 0xa00), l.boot42) << l.profile;
	}
}

TEST(Topology, runlists_are_those_of_the_papers_and_headers)
{
	std::map<int, std::string> orin = {{0, "GR0 LCE0 LCE1 "}, {1, "LCE2 "}, {2, "GR1 LCE3 "}};
	EXPECT_EQ(list_runlists("ga10b"), orin); // RTAS'24 Table III
	std::map<int, std::string> tx2 = {{0, "GR0 LCE0 "}};
	EXPECT_EQ(list_runlists("gp10b"), tx2); // RTAS'24 section V.C: two engines, one runlist
	std::map<int, std::string> xavier = {{0, "GR0 LCE0 LCE1 "}, {1, "LCE2 "}};
	EXPECT_EQ(list_runlists("gv11b"), xavier);
	std::map<int, std::string> gk104 = {{0, "GR0 COPY2 "}, {1, "MSPDEC "}, {2, "MSPPP "}, {3, "MSVLD "},
					    {4, "COPY0 "},     {5, "COPY1 "},  {6, "MSENC "}};
	EXPECT_EQ(list_runlists("gk104"), gk104); // nouveau fifo_engine
	EXPECT_EQ(list_runlists("ga100").size(), 24u);
	EXPECT_EQ(list_runlists("gv100").size(), 13u);
}

static std::vector<uint32_t> read_rows(emu::Gpu &gpu, uint32_t first, unsigned n)
{
	std::vector<uint32_t> out;
	for (unsigned i = 0; i < n; i++)
		out.push_back(rd32(gpu, first + 4 * i));
	return out;
}

static bool has_run(const std::vector<uint32_t> &all, std::vector<uint32_t> run)
{
	return std::search(all.begin(), all.end(), run.begin(), run.end()) != all.end();
}

TEST(Topology, rows_of_kepler_have_no_data_entry)
{
	// COPY0: ENUM engine 5, runlist 4, intr 5, reset 15, then TYPE 1
	auto gk104 = read_rows(*make_gpu("gk104"), 0x22700, 64);
	EXPECT_TRUE(has_run(gk104, {0x94829e3e, 0x00000007})) << "ENUM, TYPE";
	auto gk110 = read_rows(*make_gpu("gk110"), 0x22700, 64);
	EXPECT_TRUE(has_run(gk110, {0x80000007, 0x14829e3e})) << "TYPE first";
	for (uint32_t w : gk104)
		EXPECT_NE(w & 3, 1u);
}

TEST(Topology, rows_of_gm20x_have_narrow_data_and_no_instance)
{
	// GR0: DATA fault 0, PRI_BASE 0x400000; ENUM engine 0, runlist 0, intr 12, reset 12; TYPE 0
	EXPECT_TRUE(has_run(read_rows(*make_gpu("gm20b"), 0x22700, 64), {0x80400005, 0x8006183e, 0x00000003}));
	// COPY2 (type 3): fault 2, PRI_BASE 0x106000, engine 1, runlist 0, intr 17, reset 19
	EXPECT_TRUE(has_run(read_rows(*make_gpu("gm20b"), 0x22700, 64), {0x80106015, 0x8408a63e, 0x0000000f}));
}

TEST(Topology, second_die_of_gb100)
{
	auto gpu = make_gpu("gb100");
	EXPECT_EQ(rd32(*gpu, 0x224fc), 0x16130992u); // 353 rows, 3 per device, 0x99 devices, version 2
	EXPECT_EQ(rd32(*gpu, 0x324fc), 0x16130992u);
	auto near = read_rows(*gpu, 0x22800, 353), far = read_rows(*gpu, 0x32800, 353);
	auto types = [](const std::vector<uint32_t> &all) {
		std::multiset<unsigned> out;
		for (size_t i = 0; i < all.size(); i++) {
			if (!all[i])
				continue;
			out.insert(all[i] >> 24 & 0x7f);
			while (all[i] >> 31)
				i++;
		}
		return out;
	};
	EXPECT_EQ(types(near),
		  (std::multiset<unsigned>{0, 13, 16, 19, 19, 19, 19, 20, 21, 22, 24, 26, 0x1f, 0x33, 0x34, 0x35}));
	EXPECT_EQ(types(far), (std::multiset<unsigned>{16, 19, 19, 21, 24}));
	auto gh = make_gpu("gh100");
	EXPECT_EQ(rd32(*gh, 0x324fc), 0xbadf1100u) << "one die only";
}

TEST(Topology, gb202_has_only_a_device_table)
{
	auto gpu = make_gpu("gb202");
	EXPECT_EQ(rd32(*gpu, 0x224fc) & 0xf, 2u);
	auto all = read_rows(*gpu, 0x22800, 128);
	unsigned runlist_rows = 0;
	for (size_t i = 0; i < all.size(); i++) {
		size_t first = i;
		while (i < all.size() && all[i] >> 31)
			i++;
		if (i - first == 2) {
			uint32_t base = all[i] & 0x03fffc00;
			runlist_rows++;
			for (uint32_t off : {0x004, 0x008, 0x080, 0x088, 0x098, 0x200})
				EXPECT_EQ(rd32(*gpu, base + off), 0xbadf5100u);
		}
	}
	EXPECT_EQ(runlist_rows, 16u); // 14 runlists, one of them with three engines
	EXPECT_EQ(rd32(*gpu, 0x820c1c), 0xbadf5100u);
	EXPECT_EQ(rd32(*gpu, 0x104028), 0xbadf5100u);
	EXPECT_EQ(rd32(*gpu, 0x1183a4), 0x8000u); // 32768 MiB
	EXPECT_EQ(gpu->counts().unknown_reads, 0u);
	EXPECT_EQ(gpu->control({{"cmd", "scenario"}, {"data", two_tsgs()}})["ok"], false);
}

TEST(Limits, number_of_channels)
{
	for (const test::GenerationLiterals &g : test::all_generations())
		for (const test::ChipLiterals &l : g.chips) {
			if (g.host != "pfifo")
				continue;
			auto gpu = make_gpu(l.profile);
			EXPECT_EQ(rd32(*gpu, 0x800004 + 8 * (l.channels - 1)), 0u) << l.profile;
			if (l.channels < 4096) {
				EXPECT_EQ(rd32(*gpu, 0x800004 + 8 * l.channels), 0xbadf1100u) << l.profile;
			}
			bool config = g.name != "GK10x" && g.name != "GM10x"; // CFG1 came with GM20x
			EXPECT_EQ(rd32(*gpu, 0x2008), config ? l.channels : 0xbadf1100) << l.profile;
		}
	for (const char *chip : {"ga100", "ga10b", "ad104", "gb100"})
		EXPECT_EQ(rd32(*make_gpu(chip), 0xc00004), 0x00c4000bu) << chip << ": CHRAM at 0xc40000, 2^11 channels";
}

TEST(Fuses, where_they_are_published)
{
	for (const char *chip : {"gk104", "gk110", "gm107"})
		EXPECT_EQ(rd32(*make_gpu(chip), 0x21c1c), 0xbadf1100u) << chip;
	EXPECT_EQ(rd32(*make_gpu("gb100"), 0x820c38), 0xbadf5100u);
	auto gk110 = make_gpu("gk110"); // the counts of enabled units: 14 of 15
	EXPECT_EQ(rd32(*gk110, 0x409604), 5u);
	EXPECT_EQ(rd32(*gk110, 0x502608 + 0x8000 * 3), 2u);
	auto ga100 = make_gpu("ga100");
	EXPECT_EQ(rd32(*ga100, 0x820c1c), 0x20u);
	EXPECT_EQ(rd32(*ga100, 0x820c38 + 4), 0x80u);
	EXPECT_EQ(rd32(*ga100, 0x409604), 7u);
	EXPECT_EQ(rd32(*make_gpu("gm204"), 0x21c38 + 4), 0x08u);
}

// PMC ENABLE bit 12: open-gpu-doc gk104-disable-graphics-power-gating.txt. 0xbadf12, a client in reset: open-gpu-kernel-
// modules gm107/dev_pri_ringstation_sys.h. Seen failing with counts that can always be read.
TEST(GrCounts, cannot_be_read_while_the_graphics_engine_is_in_reset)
{
	for (const char *chip : {"gk104", "gk110", "gm107", "gm20b", "gp106"}) {
		auto gpu = make_gpu(chip);
		uint32_t gpcs = rd32(*gpu, 0x409604);
		wr32(*gpu, 0x200, 0xffffefff);
		EXPECT_EQ(rd32(*gpu, 0x200) & 0x00001100, 0x00000100u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x409604), 0xbadf1200u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x502608), 0xbadf1200u) << chip;
		EXPECT_EQ(rd32(*gpu, 0x120078), gpcs) << chip << ": the ringmaster's";
		wr32(*gpu, 0x200, 0xffffffff);
		EXPECT_EQ(rd32(*gpu, 0x409604), gpcs) << chip;
	}
	EXPECT_EQ(rd32(*make_gpu("gk104"), 0x200), 0xf833b1ffu); // not all ones, which is a failed read
	auto volta = make_cold_gpu("gv100");                     // a Titan V: bit 12 off, 0x0c060006
	EXPECT_EQ(rd32(*volta, 0x200) & 0x1000, 0u);
	EXPECT_EQ(rd32(*volta, 0x409604) & 0x1f, 6u);
}

TEST(CopyEngines, a_logical_engine_has_several_physical_engines)
{
	auto ga100 = make_gpu("ga100");
	EXPECT_EQ(rd32(*ga100, 0x104028), 0x3ffffu); // 18
	const uint32_t lce[18] = {2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 0, 1};
	for (unsigned i = 0; i < 18; i++)
		EXPECT_EQ(rd32(*ga100, 0x104100 + 4 * i), lce[i]) << i;
	auto ga102 = make_gpu("ga102"); // reset values of the manual
	EXPECT_EQ(rd32(*ga102, 0x104100), 15u);
	EXPECT_EQ(rd32(*ga102, 0x104114), 3u);
	EXPECT_EQ(rd32(*ga102, 0x1041c0), 0x40000003u);
	EXPECT_EQ(rd32(*make_gpu("gp100"), 0x10402c), 0x77105432u);
	EXPECT_EQ(rd32(*make_gpu("gm204"), 0x104028), 0xbadf1100u) << "no map before Pascal";
	EXPECT_EQ(rd32(*make_gpu("gv11b"), 0x104034), 0x40000002u);
	EXPECT_EQ(rd32(*make_gpu("gb100"), 0x104028), 0xbadf5100u);
}

TEST(Memory, size_registers_of_newer_and_older_chips)
{
	EXPECT_EQ(rd32(*make_gpu("gp100"), 0x100ce0), 0x00000209u); // 32 << (9 + 20) = 16 GiB
	EXPECT_EQ(rd32(*make_gpu("gv100"), 0x100ce0), 0x00000308u); // 48 << (8 + 20) = 12 GiB
	EXPECT_EQ(rd32(*make_gpu("ga100"), 0x100ce0), 0x0000028au); // 40 << (10 + 20) = 40 GiB
	EXPECT_EQ(rd32(*make_gpu("ga102"), 0x1183a4), 0x6000u);
	EXPECT_EQ(rd32(*make_gpu("ga100"), 0x1183a4), 0xbadf1100u);
	for (const char *chip : {"gk104", "gm107", "gm204", "gm20b", "gp10b", "gv11b"})
		EXPECT_EQ(rd32(*make_gpu(chip), 0x100ce0), 0xbadf1100u) << chip;
	EXPECT_EQ(rd32(*make_gpu("ga10b"), 0x1183a4), 0xbadf1100u);
}

TEST(Runlists, entries_and_registers_by_generation)
{
	// two_tsgs: TSG 1 (channels 2, 3), 128 << 3; the second entry is channel 2
	auto first = [](const std::string &chip) {
		Machine m(chip, two_tsgs());
		json rl = send_command(*m.gpu, {{"cmd", "state"}})["runlists"][0];
		uint64_t base = rl["base"];
		json reply = send_command(*m.gpu, {{"cmd", "peek"}, {"addr", base}, {"words", 8}});
		return reply["words"].get<std::vector<uint32_t>>();
	};
	EXPECT_EQ(first("gk104")[0], 2u) << "bare channels only";
	EXPECT_EQ(first("gk104")[1], 0u);
	EXPECT_EQ(first("gk110")[0], 0x0a00e001u); // length 2, timeout 128, scale 3, TSG, id 1
	EXPECT_EQ(first("gk110")[2], 2u);
	EXPECT_EQ(first("gk110")[3], 0u) << "word 1 of a channel is 0 on Kepler";
	EXPECT_NE(first("gm204")[3], 0u) << "from gm107 on, word 1 has the instance block";
	EXPECT_EQ(first("gv100")[0], 0x80030001u); // timeout 128, scale 3, TYPE TSG
	EXPECT_EQ(first("gv100")[1], 2u);
	EXPECT_EQ(first("gv100")[2], 1u);

	Machine gv("gv100", two_tsgs());
	EXPECT_EQ(rd32(*gv.gpu, 0x2284), 6u) << "ENG_RUNLIST: six entries";
	EXPECT_EQ(rd32(*gv.gpu, 0x2638), 0u);
	EXPECT_EQ(rd32(*gv.gpu, 0x200c), 0xc36fu);
	EXPECT_EQ(rd32(*gv.gpu, 0x2004), 0x0020000eu) << "14 PBDMAs, fault id 32";
	EXPECT_EQ(rd32(*gv.gpu, 0x2b00), 0xbadf1100u);
	Machine gp("gp102", two_tsgs());
	EXPECT_EQ(rd32(*gp.gpu, 0x2638), 0xbadf1100u);
	// ga100 keeps 4 KiB alignment of SUBMIT_BASE, ga102 has 1 KiB
	auto ga100 = make_gpu("ga100"), ga102 = make_gpu("ga102");
	wr32(*ga100, 0xc00080, 0x12345c02);
	wr32(*ga102, 0xc00080, 0x12345c02);
	EXPECT_EQ(rd32(*ga100, 0xc00080), 0x12345002u);
	EXPECT_EQ(rd32(*ga102, 0xc00080), 0x12345c02u);
}

TEST(Channels, kepler_keeps_the_runlist_in_pccsr)
{
	json scenario = {{"processes", {{{"tsgs", {{{"id", 1}, {"engine", "COPY1"}, {"channels", {{{"id", 7}}}}}}}}}}};
	Machine m("gk110", scenario);
	EXPECT_EQ(rd32(*m.gpu, 0x80003c) & 0x000f0001, 0x00050001u); // runlist 5, enabled
	wr32(*m.gpu, 0x80003c, 0x800);                               // a write of the disable bit alone clears it
	EXPECT_EQ(rd32(*m.gpu, 0x80003c) & 0x000f0001, 0u);
}

TEST(Channels, preempting_a_channel_has_no_effect_on_gv11b)
{
	for (const char *chip : {"gv100", "gv11b"}) {
		Machine m(chip, two_tsgs());
		wr32(*m.gpu, 0x2634, 0x00000002);
		EXPECT_EQ(rd32(*m.gpu, 0x2634) & 0x100000, std::string(chip) == "gv100" ? 0x100000u : 0u)
			<< chip << ": channel 2";
		m.gpu->advance(5'000'000);
		wr32(*m.gpu, 0x2634, 0x01000001);
		EXPECT_EQ(rd32(*m.gpu, 0x2634) & 0x100000, 0x100000u) << chip << ": TSG 1";
		m.gpu->advance(100'000);
		EXPECT_EQ(rd32(*m.gpu, 0x2634) & 0x100000, 0u) << chip;
	}
}

TEST(Doorbell, volta_takes_the_channel_id_alone)
{
	json scenario = two_tsgs();
	scenario["processes"][0]["tsgs"][0]["channels"] = {{{"id", 2}, {"busy", false}}};
	scenario["processes"][1]["tsgs"][0]["channels"] = {{{"id", 4}, {"busy", false}}};
	Machine m("gv100", scenario);
	EXPECT_EQ(rd32(*m.gpu, 0x2640), 0u);
	wr32(*m.gpu, 0x810090, 0x00010004); // Turing's format, with a runlist: there is no such channel
	m.gpu->advance(100'000);
	EXPECT_EQ(rd32(*m.gpu, 0x2640), 0u);
	wr32(*m.gpu, 0x810090, 4);
	m.gpu->advance(100'000);
	EXPECT_EQ(rd32(*m.gpu, 0x2640), 0x80003002u); // VALID, TSG 2, busy
}

TEST(Window, widths)
{
	auto gb = make_gpu("gb100");
	wr32(*gb, 0x10fd40, 0xffffffff);
	EXPECT_EQ(rd32(*gb, 0x10fd40), 0x007fffffu); // 22:0
	auto gh = make_gpu("gh100");
	wr32(*gh, 0x10fd40, 0xffffffff);
	EXPECT_EQ(rd32(*gh, 0x10fd40), 0x003fffffu); // 21:0
	auto gk = make_gpu("gk104");
	wr32(*gk, 0x1700, 0xffffffff);
	EXPECT_EQ(rd32(*gk, 0x1700), 0x03ffffffu);
}
