// SPDX-License-Identifier: GPL-2.0
// A message names the file and the key of every error in a profile or scenario, and no error ends the process.
#include "common.hpp"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace {

using nlohmann::json;

// A file that the destructor removes.
struct TempFile {
	explicit TempFile(const std::string &content)
	{
		int fd = mkstemp(path.data());
		EXPECT_GE(fd, 0);
		EXPECT_EQ(write(fd, content.data(), content.size()), ssize_t(content.size()));
		close(fd);
	}
	TempFile(const TempFile &) = delete;
	TempFile &operator=(const TempFile &) = delete;
	~TempFile() { std::filesystem::remove(path); }

	std::string path = "/tmp/gpulens-errors-XXXXXX";
};

json load_gp106()
{
	std::ifstream in(EMU_DATA_DIR "/profiles/gp106.json");
	return json::parse(in);
}

// The error of a profile file, with FILE in place of its path.
std::string profile_error(const std::string &content)
{
	TempFile file(content);
	try {
		emu::EmulatedGpu::from_file(file.path);
	} catch (const std::exception &e) {
		std::string text = e.what();
		size_t at = text.find(file.path);
		return at == text.npos ? text : text.replace(at, file.path.size(), "FILE");
	}
	return "";
}

std::string profile_error(const char *pointer, const json &value)
{
	json profile = load_gp106();
	profile[json::json_pointer(pointer)] = value;
	return profile_error(profile.dump());
}

std::string scenario_error(const json &scenario)
{
	TempFile file(scenario.dump());
	json reply = emu_test::make_gpu("gp106")->control({{"cmd", "scenario"}, {"file", file.path}});
	std::string text = reply.value("error", "");
	size_t at = text.find(file.path);
	return at == text.npos ? text : text.replace(at, file.path.size(), "FILE");
}

json scenario_of(const json &tsg)
{
	return {{"processes", json::array({{{"name", "a"}, {"tsgs", json::array({tsg})}}})}};
}

} // namespace

// Seen failing where traits_of() threw while the profile was being built, without the file: "profile: unknown family".
TEST(Errors, unknown_family_names_file_and_key)
{
	EXPECT_EQ(profile_error("/family", "rubin"),
		  "profile FILE: family: unknown family rubin; emulator/model/traits.cc lists the known ones");
}

TEST(Errors, profile_names_file_and_key)
{
	EXPECT_EQ(profile_error("/pci/device", "0x12345"),
		  "profile FILE: pci.device: \"0x12345\" is larger than 65535");
	EXPECT_EQ(profile_error("/pci/bar0_size", 3), "profile FILE: pci.bar0_size: not a power of two up to 2 GiB");
	EXPECT_EQ(profile_error("/boot0", "x"), "profile FILE: boot0: not a number: x");
	EXPECT_EQ(profile_error("/boot0", -1), "profile FILE: boot0: negative number: -1");
	EXPECT_EQ(profile_error("/boot0", 1.5), "profile FILE: boot0: not a number: 1.5");
	EXPECT_EQ(profile_error("/name", 7), "profile FILE: name: not a string: 7");
	EXPECT_EQ(profile_error("/pci/device", nullptr), "profile FILE: pci.device: not a number: null");
	EXPECT_EQ(profile_error("/fuses/tpc_gpc", json::array({0})),
		  "profile FILE: fuses.tpc_gpc: needs one mask for each of the 2 GPCs of scal.gpcs");
	EXPECT_EQ(profile_error("/engines/list/0/runlist", 99),
		  "profile FILE: engines.list[0].runlist: 99 of engine GR0 is not in runlists.list");
	EXPECT_EQ(profile_error("/ptop/order/0", "GR7"),
		  "profile FILE: ptop.order[0]: there is no engine GR7 in engines.list");
	EXPECT_EQ(profile_error("/ptop/rows", 1), "profile FILE: ptop.order: needs more rows than the table has");
	json profile = load_gp106();
	profile["engines"]["list"][2].erase("type");
	EXPECT_EQ(profile_error(profile.dump()), "profile FILE: engines.list[2].type: missing");
}

TEST(Errors, file_that_cannot_be_read_is_named)
{
	EXPECT_EQ(profile_error("{\n"),
		  "profile FILE: parse error at line 2, column 1: syntax error while parsing object "
		  "key - unexpected end of input; expected string literal");
	EXPECT_EQ(profile_error("[]"), "profile FILE: not an object");
	try {
		emu::EmulatedGpu::from_file("/nowhere.json");
		FAIL();
	} catch (const std::exception &e) {
		EXPECT_STREQ(e.what(), "profile /nowhere.json: No such file or directory");
	}
}

TEST(Errors, scenario_names_file_and_key)
{
	json tsg = {{"id", 1}, {"channels", json::array({{{"id", 2}}})}};
	EXPECT_EQ(scenario_error(scenario_of(tsg)), "");
	json bad = tsg;
	bad["channels"][0] = {{"ID", 2}};
	EXPECT_EQ(scenario_error(scenario_of(bad)), "scenario FILE: processes[0].tsgs[0].channels[0].id: missing");
	bad = tsg;
	bad["engine"] = "LCE99";
	EXPECT_EQ(scenario_error(scenario_of(bad)),
		  "scenario FILE: processes[0].tsgs[0]: TSG 1 wants an engine or runlist that GP106 lacks");
	bad = tsg;
	bad["compute_preemption"] = "later";
	EXPECT_EQ(scenario_error(scenario_of(bad)), "scenario FILE: processes[0].tsgs[0].compute_preemption: unknown "
						    "preemption mode later; there are wfi, cta, cilp");
	bad = tsg;
	bad["timeslice"] = {{"timeout", 256}};
	EXPECT_EQ(scenario_error(scenario_of(bad)), "scenario FILE: processes[0].tsgs[0].timeslice: timeslice does not "
						    "fit its fields: timeout up to 255, scale up to 15");
	bad = scenario_of(tsg);
	bad["processes"][0]["page_size"] = "3k";
	EXPECT_EQ(scenario_error(bad),
		  "scenario FILE: processes[0].page_size: unknown page size 3k; there are 4k, 64k, big, 2m and 512m");
	bad = scenario_of(tsg);
	bad["bar1"] = "some";
	EXPECT_EQ(scenario_error(bad), "scenario FILE: bar1: cannot be some");
	bad = scenario_of(tsg);
	bad["processes"].push_back(bad["processes"][0]);
	EXPECT_EQ(scenario_error(bad), "scenario FILE: processes[1].tsgs[0]: TSG id 1 twice or too large");
}
