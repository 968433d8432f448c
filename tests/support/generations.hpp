// SPDX-License-Identifier: GPL-2.0
// What tests expect of each generation and of its emulated chips: the literals in tests/support/generations/, which
// name their sources and are independent of the module and of the emulator's profiles. Python reads the same files
// (tests/support/vm/generations.py).
#pragma once
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct ChipLiterals {
	std::string profile; // of emulator/profiles/
	uint32_t boot0, boot42;
	unsigned gpcs, tpcs_per_gpc, enabled_tpcs;
	unsigned channels, runlists; // ids are below these; 0: the generation has no published Host
	unsigned copy_engines;       // LCEs, or COPY engines up to Maxwell
	uint64_t memory;             // bytes; 0: no register of the size is published
	bool fuses_published, copy_published;
	uint32_t pce_map;
	std::vector<unsigned> lce_for_pce, shared_lce; // by PCE, by GRCE; 15: none
	bool soc;                                      // a Tegra: it has no memory of its own
	unsigned instance_target;                      // TARGET of the demo's instance blocks
};

struct GenerationLiterals {
	std::string name, arch, host, tpc_order; // host: "pfifo", "runlist registers", or empty
	std::vector<std::pair<uint32_t, std::string>> ids;
	std::vector<uint32_t> unlisted_ids; // of its architecture, and of no chip that a source lists
	uint32_t window, window_base_mask;
	unsigned entry_bytes, tsg_length, tsgs;
	bool ids_per_runlist, preempts_runlists;
	std::vector<ChipLiterals> chips;
};

inline uint32_t read_number(const nlohmann::json &text)
{
	return uint32_t(std::stoul(text.get<std::string>(), nullptr, 0));
}

inline unsigned count_copy_engines(const nlohmann::json &engines)
{
	unsigned n = 0;

	for (std::string text : engines)
		for (const char *name : {":LCE", ",LCE", ":COPY", ",COPY"})
			for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
				n++;
	return n;
}

inline ChipLiterals read_chip(const std::string &profile, const nlohmann::json &c)
{
	auto published = [&](const char *part) {
		const nlohmann::json &silent = c.at("unpublished");
		return std::find(silent.begin(), silent.end(), part) == silent.end();
	};
	ChipLiterals out{.profile = profile,
			 .boot0 = read_number(c.at("boot0")),
			 .boot42 = read_number(c.at("boot42")),
			 .gpcs = c.at("units").at("gpcs"),
			 .tpcs_per_gpc = c.at("units").at("tpcs_per_gpc"),
			 .enabled_tpcs = c.at("units").at("enabled_tpcs"),
			 .channels = c.value("channels", 0u),
			 .runlists = c.value("runlists", 0u),
			 .copy_engines = count_copy_engines(c.at("engines")),
			 .memory = c.at("memory"),
			 .fuses_published = published("fuses"),
			 .copy_published = published("copy"),
			 .pce_map = 0,
			 .lce_for_pce = {},
			 .shared_lce = {},
			 .soc = c.contains("platform"),
			 .instance_target = c.value("instance_target", 0u)};
	if (out.copy_published) {
		const nlohmann::json &copy = c.at("copy");
		out.pce_map = read_number(copy.at("pce_map"));
		out.lce_for_pce = copy.at("lce_for_pce").get<std::vector<unsigned>>();
		out.shared_lce = copy.at("shared_lce").get<std::vector<unsigned>>();
	}
	return out;
}

inline GenerationLiterals read_generation(const nlohmann::json &g)
{
	bool host = !g.at("host").is_null();
	const nlohmann::json limits = host ? g.at("limits") : nlohmann::json::object();
	GenerationLiterals out{.name = g.at("generation"),
			       .arch = g.at("arch"),
			       .host = host ? g.at("host").get<std::string>() : "",
			       .tpc_order = g.at("tpc_order"),
			       .ids = {},
			       .unlisted_ids = {},
			       .window = read_number(g.at("window").at(0)),
			       .window_base_mask = read_number(g.at("window").at(1)),
			       .entry_bytes = limits.value("entry_bytes", 0u),
			       .tsg_length = limits.value("tsg_length", 0u),
			       .tsgs = limits.value("tsgs", 0u),
			       .ids_per_runlist = limits.value("ids_per_runlist", false),
			       .preempts_runlists = limits.value("preempts_runlists", false),
			       .chips = {}};
	for (const nlohmann::json &row : g.at("ids"))
		out.ids.emplace_back(read_number(row.at(0)), row.at(1));
	for (const nlohmann::json &id : g.at("unlisted_ids"))
		out.unlisted_ids.push_back(read_number(id));
	for (const auto &[profile, chip] : g.at("emulated").items())
		out.chips.push_back(read_chip(profile, chip));
	return out;
}

// All generations, oldest first. A file that cannot be parsed, or lacks a value, ends the test program.
inline const std::vector<GenerationLiterals> &all_generations()
{
	static const std::vector<GenerationLiterals> all = [] {
		std::vector<GenerationLiterals> out;
		for (const auto &file : std::filesystem::directory_iterator(GPULENS_GENERATIONS)) {
			std::ifstream in(file.path());
			out.push_back(read_generation(nlohmann::json::parse(in)));
		}
		std::sort(out.begin(), out.end(), [](const auto &a, const auto &b) { return a.ids < b.ids; });
		return out;
	}();
	return all;
}

inline std::vector<ChipLiterals> all_emulated()
{
	std::vector<ChipLiterals> out;

	for (const GenerationLiterals &g : all_generations())
		out.insert(out.end(), g.chips.begin(), g.chips.end());
	return out;
}

// The profiles of the chips whose Host is published: only these can run a scenario.
inline std::vector<std::string> profiles_with_host()
{
	std::vector<std::string> out;

	for (const GenerationLiterals &g : all_generations())
		for (const ChipLiterals &c : g.chips)
			if (!g.host.empty())
				out.push_back(c.profile);
	return out;
}

inline std::pair<GenerationLiterals, ChipLiterals> find_literals(const std::string &profile)
{
	for (const GenerationLiterals &g : all_generations())
		for (const ChipLiterals &c : g.chips)
			if (c.profile == profile)
				return {g, c};
	throw std::invalid_argument("no literals of " + profile);
}

} // namespace test
