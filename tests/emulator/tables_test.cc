// SPDX-License-Identifier: GPL-2.0
// Page tables of all versions, contexts and subcontexts: tables that are written by hand and that the chip reads;
// tables that the loader writes, with known pages; words of instance blocks and context images. Words by hand from
// open-gpu-kernel-modules maxwell/gm107/dev_mmu.h (V1), pascal/gp100/dev_mmu.h (V2), hopper/gh100/dev_mmu.h (V3); DOC
// ampere/ga100/dev_ram.ref.txt.
#include "common.hpp"

#include "driver/page_tables.hpp"
#include "model/bus.hpp"

#include <map>

using namespace emu_test;

namespace {

// An instance block at 0x200000 with the page directory at 0x300000, bound to BAR1.
void bind_bar1(emu::Gpu &gpu, uint32_t flags)
{
	gpu.vidmem().wr32(0x200200, 0x300000 | flags);
	gpu.vidmem().wr32(0x200204, 0);
	wr32(gpu, 0x1704, 0x80000200);
}

json translate_va(emu::EmulatedGpu &gpu, int bar, uint64_t va)
{
	return send_command(gpu, {{"cmd", "translate"}, {"bar", bar}, {"va", va}});
}

} // namespace

TEST(PageTablesV1, big_pages_of_128_kib_written_by_hand)
{
	auto gpu = make_gpu("gk104");
	emu::Memory &m = gpu->vidmem();
	bind_bar1(*gpu, 0x4);
	// PDE 0: big table at 0x310000, small table at 0x320000: both video memory, full size, address >> 12 at 31:4
	m.wr64(0x300000, 0x0000320100003101ull);
	m.wr64(0x310000 + 8 * 2, 0x0000000000080001ull);    // big page 2 (VA 0x40000) -> 0x8000000
	m.wr64(0x320000 + 8 * 0x21, 0x000000fe00123451ull); // 4K page 0x21 -> 0x12345000, kind 0xf
	m.wr64(0x320000 + 8 * 0x41, 0x0000000000999991ull); // below a valid big page: not used
	m.wr64(0x320000 + 8 * 0x70, 0x0000000000777771ull); // page of big entry 3, which hides it
	m.wr64(0x310000 + 8 * 3, 0x0000000000000002ull);    // invalid, PRIVILEGE
	m.wr32(0x12345678 & ~3u, 0x11111111);
	m.wr32(0x801f004, 0x22222222);
	m.wr64(0x320000 + 8 * 0x21, 0x0000000000123451ull);
	EXPECT_EQ(gpu->read(1, 0x21678, 4), 0x11111111u);
	EXPECT_EQ(gpu->read(1, 0x5f004, 4), 0x22222222u) << "128 KiB: the offset has 17 bits";
	EXPECT_EQ(translate_va(*gpu, 1, 0x41000)["addr"], 0x8001000);
	EXPECT_EQ(translate_va(*gpu, 1, 0x70000)["mapped"], false) << "hidden by the big entry";
	EXPECT_EQ(translate_va(*gpu, 1, 0x20000)["mapped"], false);
	// SIZE 3: the tables cover an eighth of 128 MiB only
	m.wr64(0x300000, 0x000032010000310dull);
	EXPECT_EQ(translate_va(*gpu, 1, 0x21000)["addr"], 0x12345000);
	m.wr64(0x320000 + 8 * 0x1001, 0x0000000000123451ull);
	EXPECT_EQ(translate_va(*gpu, 1, 0x1001000)["mapped"], false);
	m.wr64(0x300000, 0x0000320100003101ull);
	EXPECT_EQ(translate_va(*gpu, 1, 0x1001000)["addr"], 0x12345000);
}

TEST(PageTablesV1, big_pages_of_64_kib_written_by_hand)
{
	auto gpu = make_gpu("gm204");
	emu::Memory &m = gpu->vidmem();
	bind_bar1(*gpu, 0x804);                          // BIG_PAGE_SIZE 64 KiB
	m.wr64(0x300000 + 8 * 1, 0x0000000000003101ull); // PDE 1 is VA 0x4000000 on
	m.wr64(0x310000 + 8 * 5, 0x0000000000080001ull); // big page 5 -> 0x8000000
	EXPECT_EQ(translate_va(*gpu, 1, 0x4051234)["addr"], 0x8001234);
	bind_bar1(*gpu, 0x4); // the same tables, read as those of 128 KiB: PDE 1 is VA 0x8000000 on
	EXPECT_EQ(translate_va(*gpu, 1, 0x4051234)["mapped"], false);
	EXPECT_EQ(translate_va(*gpu, 1, 0x80a1234)["addr"], 0x8001234);
	// system memory: aperture 2 at w1 2:1, all 28 address bits
	m.wr64(0x310000 + 8 * 5, 0x00000004f0000001ull);
	EXPECT_EQ(translate_va(*gpu, 1, 0x80a0000)["addr"], 0xf000000000);
	EXPECT_EQ(translate_va(*gpu, 1, 0x80a0000)["target"], 2);
	m.wr64(0x310000 + 8 * 5, 0x0000000000080001ull | 0x200000000ull);
	EXPECT_EQ(translate_va(*gpu, 1, 0x80a0000)["mapped"], false) << "aperture 1: a peer's memory";
}

TEST(PageTablesV1, pascal_reads_version_1_if_use_ver2_is_clear)
{
	auto gpu = make_gpu("gp106");
	emu::Memory &m = gpu->vidmem();
	m.wr64(0x300000, 0x0000000000003101ull);
	m.wr64(0x310000 + 8 * 5, 0x0000000000080001ull);
	bind_bar1(*gpu, 0x804);
	EXPECT_EQ(translate_va(*gpu, 1, 0x51234)["addr"], 0x8001234);
	bind_bar1(*gpu, 0xc04);
	EXPECT_EQ(translate_va(*gpu, 1, 0x51234)["mapped"], false);
}

TEST(PageTables, formats_have_their_larger_page_sizes)
{
	struct Case {
		const char *chip;
		unsigned shift;
		bool has;
	} cases[] = {{"gp100", 21, true},  {"gv100", 29, false}, {"tu104", 29, false},
		     {"ga100", 29, true},  {"ad104", 29, true},  {"gh100", 29, true},
		     {"gh100", 38, false}, {"gb100", 38, true},  {"gm204", 21, false}};
	for (const auto &c : cases) {
		auto gpu = make_gpu(c.chip);
		uint64_t heap = 0x1000000;
		emu::PageFormat f = emu::usual_format(gpu->profile().traits.pages);
		emu::AddressSpace space(gpu->memories(), f, [&](uint64_t n, uint64_t a) {
			heap = (heap + a - 1) & ~(a - 1);
			return emu::Phys{emu::Aperture::Vid, (heap += n) - n};
		});
		EXPECT_EQ(space.has_page(c.shift), c.has) << c.chip << " 2^" << c.shift;
		if (!c.has) {
			EXPECT_THROW(space.map(0, {}, c.shift), std::invalid_argument);
			continue;
		}
		uint64_t size = 1ull << c.shift;
		space.map(3 * size, {emu::Aperture::SysCoherent, 5 * size}, c.shift);
		auto p = emu::translate(gpu->memories(), {space.pdb(), f}, 3 * size + size - 4);
		ASSERT_TRUE(p) << c.chip;
		EXPECT_EQ(p->addr, 6 * size - 4) << c.chip;
		EXPECT_EQ(p->ap, emu::Aperture::SysCoherent);
		EXPECT_FALSE(emu::translate(gpu->memories(), {space.pdb(), f}, 4 * size));
		EXPECT_THROW(space.map(4096, {}, c.shift), std::invalid_argument) << "not aligned";
	}
}

TEST(PageTables, ver2_big_entry_can_hide_small_pages)
{
	auto gpu = make_gpu("gp106");
	emu::Memory &m = gpu->vidmem();
	bind_bar1(*gpu, 0xc04);
	m.wr64(0x300000, 0x0000000000030102ull);
	m.wr64(0x301000, 0x0000000000030202ull);
	m.wr64(0x302000, 0x0000000000030302ull);
	m.wr64(0x303000, 0x0000000000030512ull);
	m.wr64(0x303008, 0x0000000000030402ull);
	m.wr64(0x304000, 0x0000000000080001ull);
	EXPECT_EQ(translate_va(*gpu, 1, 0)["addr"], 0x800000);
	m.wr64(0x305100, 0x20); // invalid, PRIVILEGE
	EXPECT_EQ(translate_va(*gpu, 1, 0)["mapped"], false);
}

// scenarios/bars.json: the same pages on every version of page tables.
TEST(Bars, scenario_maps_known_pages_in_every_version)
{
	struct Case {
		const char *chip;
		json with;
		uint64_t big; // size of a big page
		bool two_mib;
	} cases[] = {{"gk110", json::object(), 0x20000, false},
		     {"gm107", json::object(), 0x20000, false},
		     {"gm204", json::object(), 0x10000, false},
		     {"gm204", {{"big_page", "128k"}}, 0x20000, false},
		     {"gp102", json::object(), 0x10000, true},
		     {"gp102", {{"page_tables", "v1"}}, 0x10000, false},
		     {"gp102", {{"page_tables", "v1"}, {"big_page", "128k"}}, 0x20000, false},
		     {"gv100", {{"memory", "sys"}}, 0x10000, true},
		     {"ga100", json::object(), 0x10000, true},
		     {"ad104", json::object(), 0x10000, true},
		     {"gh100", json::object(), 0x10000, true},
		     {"gb100", {{"memory", "sys"}}, 0x10000, true}};
	for (const auto &c : cases) {
		json scenario = load_scenario_file("bars");
		scenario.update(c.with);
		Machine m(c.chip, scenario);
		auto at = [&](int bar, uint64_t va) {
			json r = translate_va(*m.gpu, bar, va);
			return r["mapped"] == true ? uint64_t(r["addr"]) : 0;
		};
		EXPECT_EQ(at(1, 0x0), 0x10203000u) << c.chip;
		EXPECT_EQ(at(1, 0x1abc), 0x10204abcu) << c.chip;
		EXPECT_EQ(at(1, 0x3fff), 0x10206fffu) << c.chip;
		EXPECT_EQ(at(1, 0x4000), 0u) << c.chip;
		EXPECT_EQ(at(1, 0x40000), 0x11240000u) << c.chip;
		EXPECT_EQ(at(1, 0x40000 + 2 * c.big - 1), 0x11240000u + 2 * c.big - 1) << c.chip;
		EXPECT_EQ(at(1, 0x40000 + 2 * c.big), 0u) << c.chip;
		EXPECT_EQ(at(1, 0x212345), c.two_mib ? 0x12412345u : 0u) << c.chip;
		EXPECT_EQ(at(1, 0x7ff010), 0x10204010u) << c.chip << ": a second mapping of the same page";
		EXPECT_EQ(translate_va(*m.gpu, 1, 0x800000)["target"], 2) << c.chip;
		EXPECT_EQ(at(1, 0x800000), 0x40000000u) << c.chip;
		EXPECT_EQ(at(2, 0x1f000), 0x1300f000u) << c.chip;
		EXPECT_EQ(at(2, 0x20000), 0u) << c.chip;
		m.gpu->vidmem().wr32(0x10204abc, 0x600df00d);
		EXPECT_EQ(m.gpu->read(1, 0x1abc, 4), 0x600df00du) << c.chip;
	}
}

TEST(Bars, tables_a_chip_does_not_have_are_refused)
{
	for (const auto &[chip, with] : std::vector<std::pair<std::string, json>>{{"gk104", {{"big_page", "64k"}}},
										  {"gv100", {{"page_tables", "v1"}}},
										  {"gh100", {{"page_tables", "v2"}}},
										  {"gk104", {{"aperture", "vid"}}}}) {
		json scenario = two_tsgs();
		scenario.update(with);
		EXPECT_EQ(make_gpu(chip)->control({{"cmd", "scenario"}, {"data", scenario}})["ok"], false)
			<< chip << with;
	}
	EXPECT_EQ(make_gpu("ga10b")->control({{"cmd", "scenario"}, {"data", two_tsgs()}})["ok"], false)
		<< "a SoC has no memory of its own";
}

TEST(Contexts, subcontexts_have_their_own_tables)
{
	for (const char *chip : {"gv100", "tu104", "ga100", "ga10b", "gh100", "gb100"}) {
		Machine m(chip, load_scenario_file("contexts"));
		json state = send_command(*m.gpu, {{"cmd", "state"}});
		std::map<int, uint64_t> inst;
		std::map<int, uint64_t> context;
		for (const auto &c : state["channels"])
			inst[c["id"]] = c["inst"], context[c["id"]] = c["context"];
		emu::Aperture ap = emu::Aperture::Vid;
		auto word = [&](int ch, unsigned i) { return m.gpu->memories().rd32({ap, inst[ch] + 4 * i}); };
		EXPECT_EQ(word(16, 166), 0x00000023u) << chip << ": SC_PDB_VALID 0, 1, 5";
		EXPECT_EQ(word(16, 167), 0x00000002u) << chip << ": and 33";
		EXPECT_EQ(word(28, 167), 0x80000000u) << chip << ": 63";
		EXPECT_EQ(word(18, 63), 0x00120500u) << chip << ": CHID 18, VEID 5";
		EXPECT_EQ(word(18, 134), 5u) << chip;
		EXPECT_EQ(word(19, 63), 0x00132100u) << chip;
		// subcontext 0 has the channel's own tables, 1 those of client-a (channel 24)
		EXPECT_EQ(word(16, 168) | 0x400, word(16, 128) | 0x400) << chip;
		EXPECT_EQ(word(16, 168 + 4) & ~0xfffu, word(24, 128) & ~0xfffu) << chip;
		EXPECT_EQ(word(16, 168 + 4 * 5) & ~0xfffu, word(28, 128) & ~0xfffu) << chip;
		EXPECT_NE(word(16, 168 + 4) & ~0xfffu, word(16, 128) & ~0xfffu) << chip;
		EXPECT_EQ(word(16, 128) & 0x400,
			  std::string(chip) == "gh100" || std::string(chip) == "gb100" ? 0u : 0x400u)
			<< chip;
		EXPECT_EQ(word(16, 168) & 0x400, 0x400u) << chip << ": written 1 even for V3";
		// one context image for the TSG, one header for each subcontext
		EXPECT_EQ(context[16], context[19]) << chip;
		EXPECT_NE(word(16, 132), word(17, 132)) << chip;
		EXPECT_NE(context[16], context[20]) << chip;
		EXPECT_EQ(m.gpu->memories().rd32({ap, context[16] + 0x84}), 2u) << chip << ": CILP";
		EXPECT_EQ(m.gpu->memories().rd32({ap, context[20] + 0x80}), 1u) << chip << ": GFXP";
		EXPECT_EQ(m.gpu->memories().rd32({ap, context[24] + 0xf0}), 3u) << chip << ": CONTEXT_ID";
		if (std::string(chip) == "ga10b") {
			EXPECT_EQ(m.gpu->memories().rd32({ap, context[16] + 0x200}), 0x0baff1edu);
			EXPECT_EQ(m.gpu->memories().rd32({ap, context[16] + 0x2fc}), 0xca5cadedu);
			EXPECT_EQ(word(16, 131), 0xcafeca11u);
		}
		bool gb = std::string(chip) == "gb100";
		EXPECT_EQ(word(16, gb ? 38 : 5), 0x10u) << chip << ": GP_GET";
	}
	EXPECT_EQ(make_gpu("gp100")->control({{"cmd", "scenario"}, {"data", load_scenario_file("contexts")}})["ok"],
		  false);
}

TEST(Contexts, context_image_of_older_generations)
{
	Machine gm("gm20b", two_tsgs("cilp"));
	json state = send_command(*gm.gpu, {{"cmd", "state"}});
	uint64_t at = state["channels"][0]["context"];
	auto word = [&](unsigned off) { return gm.gpu->memories().rd32({emu::Aperture::Vid, at + off}); };
	EXPECT_EQ(word(0x60), 1u) << "gm20b has no CILP";
	EXPECT_EQ(word(0x84), 0u);
	EXPECT_EQ(word(0xfc), 0x600dc0deu);
	EXPECT_EQ(word(0xf0), 1u);
	EXPECT_EQ(state["channels"][0]["compute_preemption"], 1);
	gm.gpu->advance(10'000'000);
	EXPECT_GE(word(0xf4), 3u) << "saves";
	EXPECT_EQ(word(0xd4), 0u) << "no counters by kind";

	Machine gk("gk110", two_tsgs("cta"));
	state = send_command(*gk.gpu, {{"cmd", "state"}});
	EXPECT_FALSE(state["channels"][0].contains("compute_preemption"));
	at = state["channels"][0]["context"];
	gk.gpu->advance(10'000'000);
	for (unsigned off : {0x60u, 0x80u, 0x84u, 0xf4u, 0xfcu})
		EXPECT_EQ(gk.gpu->vidmem().rd32(at + off), 0x5c5c5c5cu) << "a word without a meaning is not changed";
}

TEST(Placement, structures_may_be_in_different_memories)
{
	json scenario = two_tsgs();
	scenario["memory"] = {{"runlists", "sys"}, {"tables", "sys"}};
	Machine m("tu104", scenario);
	json state = send_command(*m.gpu, {{"cmd", "state"}});
	EXPECT_EQ(state["runlists"][0]["base_target"], 2);
	EXPECT_EQ(state["runlists"][0]["tsgs"].size(), 2u);
	EXPECT_EQ(state["channels"][0]["inst_target"], 0);
	uint64_t inst = state["channels"][0]["inst"];
	EXPECT_EQ(m.gpu->vidmem().rd32(inst + 0x200) & 0xfff, 0xc06u) << "PDB TARGET 2, VOL, VER2, 64 KiB";
	EXPECT_TRUE(state["channels"][0].contains("context"));
	EXPECT_EQ(rd32(*m.gpu, 0x2b00) & 3, 2u);
	// A changed TSG entry in system memory takes effect without a submit.
	uint64_t base = state["runlists"][0]["base"];
	uint32_t longer = 0x80040001; // TSG 1's scale becomes 4
	memcpy(m.ram.at(base, 4), &longer, 4);
	m.gpu->advance(10'000'000);
	EXPECT_EQ(send_command(*m.gpu, {{"cmd", "state"}})["runlists"][0]["tsgs"][0]["scale"], 4);
}
