// SPDX-License-Identifier: GPL-2.0
// The module's text of a live GPU equals the tool's text from its image, for every chip and scenario of the emulator.
#include "gpulens/out/text.hpp"
#include "lib/source/image/from_image.hpp"
#include "support/tools/recorded.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

using namespace tool_test;

namespace {

struct Case {
	std::string profile, scenario;
};

void PrintTo(const Case &c, std::ostream *out)
{
	*out << c.profile << " " << c.scenario;
}

std::vector<std::string> file_stems(const char *folder)
{
	std::vector<std::string> names;

	for (const std::filesystem::directory_entry &e :
	     std::filesystem::directory_iterator(std::string(GPULENS_DATA) + "/" + folder))
		if (e.path().extension() == ".json")
			names.push_back(e.path().stem());
	std::sort(names.begin(), names.end());
	return names;
}

// demo-CHIP belongs to that chip, the others to all.
std::vector<Case> all_cases()
{
	std::vector<Case> cases;

	for (const std::string &p : file_stems("profiles"))
		for (const std::string &s : file_stems("scenarios"))
			if (s.compare(0, 5, "demo-") != 0 || s == "demo-" + p)
				cases.push_back({p, s});
	return cases;
}

// As procfs/show.c prints a number; tests/vm/test_tool.py compares with the module itself.
std::string to_hex(u32 v)
{
	return fmt::format("0x{:x}\n", v);
}

void compare_texts(Live &live, const tool::Image &image)
{
	tool::Decoder d(image);

	auto check = [&](const std::string &file, const std::string &expected) {
		tool::ProcText out = tool::proc_text(d, file);
		EXPECT_EQ(list_failures(out), "");
		EXPECT_EQ(out.text, expected);
		EXPECT_FALSE(expected.empty());
	};
	check("device_info", live.text(lens_format_device_info));
	check("chip", live.chip_text("0000:01:00.0"));
	const lens_topology &topo = live.chip.topo();
	if (!topo.ce_err)
		check("copy_topology", live.text([](lens_text *t, const lens_gpu *gpu) {
			lens_format_copy_topology(t, gpu, &gpu->topo.ce);
		}));
	check("bars", live.bars_text());
	check("image", tool::write_image(image));
	for (u32 i = 0; !topo.gpcs_err && i < topo.num_gpcs; i++) {
		if (topo.gpc_mask >> i & 1)
			EXPECT_NE(list_failures(tool::proc_text(d, fmt::format("gpc{}_tpc_mask", i))), "") << i;
		else
			check(fmt::format("gpc{}_tpc_mask", i), to_hex(topo.tpc_mask[i]));
	}
	for (u32 i = 0; !topo.ce_err && i < LENS_MAX_PCES; i++) {
		if (topo.ce.pce_map >> i & 1)
			check(fmt::format("lce_for_pce{}", i), to_hex(topo.ce.lce_for_pce[i]));
		else
			EXPECT_NE(list_failures(tool::proc_text(d, fmt::format("lce_for_pce{}", i))), "") << i;
	}
	for (u32 i = 0; i < topo.ce.n_grces; i++)
		check(fmt::format("shared_lce_for_grce{}", i), to_hex(topo.ce.shared_lce[i]));
	if (topo.num_gpcs) {
		check("num_gpcs", to_hex(topo.num_gpcs));
		check("num_tpc_per_gpc", to_hex(topo.num_tpc_per_gpc));
	}
	if (topo.num_ces)
		check("num_ces", to_hex(topo.num_ces));
	if (!topo.gpcs_err)
		check("gpc_mask", to_hex(topo.gpc_mask));
	if (!topo.ce_err)
		check("pce_map", to_hex(topo.ce.pce_map));
	if (topo.memory_bytes)
		check("local_memory", std::to_string(topo.memory_bytes) + "\n");
	size_t shown = 0;
	for (u32 i = 0; lens_gpu_has_host(live.chip.gpu.get()) && i < live.chip.topo().n_runlists; i++) {
		u32 id = live.chip.topo().runlists[i].id;
		std::string file = "runlist" + std::to_string(id);
		std::optional<std::string> expected = live.runlist_text(id);
		if (expected)
			check(file, *expected);
		else
			EXPECT_NE(list_failures(tool::proc_text(d, file)), "") << file;
		shown += expected && expected->find("\n! empty\n") == expected->npos;
	}
	if (lens_gpu_has_host(live.chip.gpu.get())) {
		EXPECT_GT(shown, 0U);
	}
}

void compare_tpc_map(Live &live, const tool::Image &image)
{
	if (!live.chip.topo().gpcs_err) // this chip's fuses are published
		EXPECT_EQ(decode_file(image, "tpc_map").text, live.tpc_map_text());
}

void compare_written(const tool::Image &image)
{
	std::string text = tool::write_image(image);
	tool::Image again = parse_valid(text);

	EXPECT_EQ(tool::write_image(again), text);
	EXPECT_EQ(again.regs.size(), image.regs.size());
	EXPECT_EQ(again.vid.size(), image.vid.size());
	EXPECT_EQ(again.sys.size(), image.sys.size());
	EXPECT_EQ(tool::channels_text(tool::from_image(again, "x"), {}),
		  tool::channels_text(tool::from_image(image, "x"), {}));
}

// The TSGs on the engines of each runlist, as the emulator reports them unless a runlist is between two. Seen failing with
// each TSG one higher.
void compare_engines(Live &live, const tool::Image &image)
{
	if (!lens_gpu_has_host(live.chip.gpu.get()))
		return;
	const nlohmann::json state = live.chip.emu->control({{"cmd", "state"}});
	const nlohmann::json running = live.chip.emu->control({{"cmd", "running"}});
	std::set<int> valid;
	std::map<int, std::multiset<std::string>> expected, shown;

	for (const nlohmann::json &rl : state["runlists"])
		if (rl["phase"] == "valid")
			valid.insert(rl["id"].get<int>());
	for (const nlohmann::json &e : running["engines"])
		if (!e["tsg"].is_null() && valid.contains(e["runlist"].get<int>()))
			expected[e["runlist"].get<int>()].insert(fmt::format("TSG {}", e["tsg"].get<u32>()));
	tool::Gpu gpu = tool::from_image(image, "x");
	ASSERT_FALSE(gpu.engines.empty());
	for (const tool::Engine &e : gpu.engines) {
		ASSERT_TRUE(e.now) << e.name;
		if (e.runlist == LENS_NONE) {
			EXPECT_EQ(e.now->text(), "-") << e.name;
			continue;
		}
		EXPECT_EQ(e.now->err, 0) << e.name;
		if (valid.contains(e.runlist) && e.now->text().starts_with("TSG "))
			shown[e.runlist].insert(e.now->text());
	}
	EXPECT_EQ(shown, expected);
}

class RoundTrip : public testing::TestWithParam<Case> {};

// One test for all comparisons, because the GPU and its image take most of the time of each.
TEST_P(RoundTrip, ImageEqualsTheLiveGpu)
{
	Live live(GetParam().profile, GetParam().scenario);
	if (!live.unfit.empty())
		GTEST_SKIP() << live.unfit;
	tool::Image image = parse_valid(live.image_text());

	compare_texts(live, image);
	compare_tpc_map(live, image);
	compare_written(image);
	compare_engines(live, image);
}

// Memory that the GPU's firmware protects from the CPU is unreadable in the image, too, and both texts say so.
TEST(Protected, ChipFromTheImageNamesUnreadablePartsLikeTheLiveOne)
{
	Live live("gh100", "demo-gh100");
	live.chip.emu->control({{"cmd", "fault"}, {"kind", "protected"}, {"addr", 0}, {"bytes", 1ULL << 40}});
	std::string text = live.chip_text("0000:01:00.0");
	EXPECT_NE(text.find("\nRunlist entries: not readable, protected memory, "), std::string::npos) << text;
	tool::Image image = parse_valid(live.image_text());
	EXPECT_EQ(decode_file(image, "chip").text, text);
	EXPECT_EQ(list_failures(decode_file(image, "runlist0")),
		  "runlist 0: the words read are error codes of failed reads, or inconsistent\n");
}

TEST(Platform, NameIsReadFromItsCommentAndWrittenBack)
{
	tool::Image image = parse_valid("gpulens-image 1\nchip boot0=0x17b000a1\n# platform 17000000.ga10b\n");
	EXPECT_EQ(image.device(), "17000000.ga10b");
	EXPECT_NE(decode_file(image, "chip").text.find("Device:       17000000.ga10b\n"), std::string::npos);
	EXPECT_NE(tool::write_image(image).find("\n# platform 17000000.ga10b\n"), std::string::npos);
	EXPECT_EQ(parse_valid("gpulens-image 1\nchip boot0=0x17b000a1\n# platform a b\n#platform x\n").device(), "");
	// Found by fuzzing: a byte of 0 is not printable.
	EXPECT_EQ(parse_valid(std::string("gpulens-image 1\nchip boot0=0x17b000a1\n# platform a") + '\0' + "b\n")
			  .device(),
		  "");
}

INSTANTIATE_TEST_SUITE_P(EveryChip, RoundTrip, testing::ValuesIn(all_cases()),
			 [](const testing::TestParamInfo<Case> &i) {
	std::string name = i.param.profile + "_" + i.param.scenario;
	std::replace(name.begin(), name.end(), '-', '_');
	return name;
});

} // namespace
