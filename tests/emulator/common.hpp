// SPDX-License-Identifier: GPL-2.0
// What the emulator's tests share: making a chip with a scenario whose time stands still between advances.
#pragma once
#include "control/emulated_gpu.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace emu_test {

using nlohmann::json;

inline std::unique_ptr<emu::EmulatedGpu> make(const std::string &chip)
{
	auto gpu = emu::EmulatedGpu::from_file(EMU_DATA_DIR "/profiles/" + chip + ".json");
	gpu->set_access_ns(0);
	return gpu;
}

// Reads fail the test, not the process, when a command is refused.
inline json command(emu::EmulatedGpu &gpu, const json &c)
{
	json r = gpu.control(c);
	EXPECT_EQ(r.at("ok"), true) << r.dump();
	return r;
}

inline std::unique_ptr<emu::EmulatedGpu> make(const std::string &chip, const json &scenario)
{
	auto gpu = make(chip);
	command(*gpu, {{"cmd", "scenario"}, {"data", scenario}});
	return gpu;
}

// TSG 1 with channels 2, 3 and TSG 2 with channels 4, 5, all busy; 128 << 3 = 1 048 576 ns of timeslice each.
inline json two_tsgs(const std::string &compute = "wfi")
{
	auto tsg = [&](int id, int a, int b) {
		return json{{"name", "p" + std::to_string(id)},
			    {"tsgs",
			     {{{"id", id},
			       {"runlist", 0},
			       {"timeslice", {{"timeout", 128}, {"scale", 3}}},
			       {"compute_preemption", compute},
			       {"channels", {{{"id", a}}, {{"id", b}}}}}}}};
	};
	return {{"processes", {tsg(1, 2, 3), tsg(2, 4, 5)}}};
}

inline json file(const std::string &scenario)
{
	std::ifstream in(EMU_DATA_DIR "/scenarios/" + scenario + ".json");
	EXPECT_TRUE(in.good()) << scenario;
	return json::parse(in);
}

// A chip in a machine that sets 16 MiB of its memory aside for it.
struct Machine {
	Machine(const std::string &chip, const json &scenario) : gpu(make(chip))
	{
		gpu->set_sysmem(&ram);
		command(*gpu, {{"cmd", "sysmem"}, {"base", ram.base()}, {"bytes", ram.size()}});
		command(*gpu, {{"cmd", "scenario"}, {"data", scenario}});
	}
	emu::RamAt ram{0x70000000, 0x1000000};
	std::unique_ptr<emu::EmulatedGpu> gpu;
};

inline uint32_t rd(emu::Gpu &gpu, uint32_t off)
{
	return uint32_t(gpu.read(0, off, 4));
}

inline void wr(emu::Gpu &gpu, uint32_t off, uint32_t v)
{
	gpu.write(0, off, 4, v);
}

struct Ran {
	uint64_t ns = 0, slices = 0;
};

inline Ran ran(emu::EmulatedGpu &gpu, const char *what, int id, int runlist = 0)
{
	Ran out;
	json r = command(gpu, {{"cmd", "runtime"}});
	for (const auto &one : r.at(what))
		if (one.at("id") == id && one.at("runlist") == runlist)
			out = {one.at("ns"), one.at("slices")};
	return out;
}

} // namespace emu_test
