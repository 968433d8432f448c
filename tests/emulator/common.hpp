// SPDX-License-Identifier: GPL-2.0
// Helpers of the emulator's tests: they make a chip with a scenario, whose time passes only in advance().
#pragma once
#include "control/emulated_gpu.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace emu_test {

using nlohmann::json;

// As after power-up: up to Turing PMC_ENABLE keeps PFIFO and the graphics engine off.
inline std::unique_ptr<emu::EmulatedGpu> make_cold_gpu(const std::string &chip)
{
	auto gpu = emu::EmulatedGpu::from_file(EMU_DATA_DIR "/profiles/" + chip + ".json");
	gpu->set_access_ns(0);
	return gpu;
}

inline std::unique_ptr<emu::EmulatedGpu> make_gpu(const std::string &chip)
{
	auto gpu = make_cold_gpu(chip);
	if (gpu->profile().pfifo())
		gpu->poke_register(0x200, 0xffffffff);
	return gpu;
}

// Sends a command. A refused command fails the test.
inline json send_command(emu::EmulatedGpu &gpu, const json &c)
{
	json r = gpu.control(c);
	EXPECT_EQ(r.at("ok"), true) << r.dump();
	return r;
}

inline std::unique_ptr<emu::EmulatedGpu> make_gpu(const std::string &chip, const json &scenario)
{
	auto gpu = make_gpu(chip);
	send_command(*gpu, {{"cmd", "scenario"}, {"data", scenario}});
	return gpu;
}

// TSG 1 with channels 2 and 3, and TSG 2 with channels 4 and 5, all busy. Each has a time slice of 128 << 3 = 1 048 576
// ns.
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

inline json load_scenario_file(const std::string &scenario)
{
	std::ifstream in(EMU_DATA_DIR "/scenarios/" + scenario + ".json");
	EXPECT_TRUE(in.good()) << scenario;
	return json::parse(in);
}

// A chip in a machine that reserves 16 MiB of its memory for it.
struct Machine {
	Machine(const std::string &chip, const json &scenario) : gpu(make_gpu(chip))
	{
		gpu->set_sysmem(&ram);
		send_command(*gpu, {{"cmd", "sysmem"}, {"base", ram.base()}, {"bytes", ram.size()}});
		send_command(*gpu, {{"cmd", "scenario"}, {"data", scenario}});
	}
	emu::RamAt ram{0x70000000, 0x1000000};
	std::unique_ptr<emu::EmulatedGpu> gpu;
};

inline uint32_t rd32(emu::Gpu &gpu, uint32_t off)
{
	return uint32_t(gpu.read(0, off, 4));
}

inline void wr32(emu::Gpu &gpu, uint32_t off, uint32_t v)
{
	gpu.write(0, off, 4, v);
}

struct Runtime {
	uint64_t ns = 0, slices = 0;
};

inline Runtime query_runtime(emu::EmulatedGpu &gpu, const char *what, int id, int runlist = 0)
{
	Runtime out;
	json r = send_command(gpu, {{"cmd", "runtime"}});
	for (const auto &row : r.at(what))
		if (row.at("id") == id && row.at("runlist") == runlist)
			out = {row.at("ns"), row.at("slices")};
	return out;
}

} // namespace emu_test
