// SPDX-License-Identifier: GPL-2.0
// Reads what nvidia-smi prints of the profiles of a GPU: -lgip has numbers, names and SMs, -lgipp where an instance may begin.
#include "gpulens/plan/mig.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <regex>
#include <set>

namespace tool::plan {

namespace {

// Texts have bounds in the forms, as std::regex recurses. More than any GPU has, and few enough that all sets of instances can be tried.
constexpr u32 MOST_PROFILES = 16, MOST_SLICES = 16, MOST_SMS = 4096;

struct Placements {
	std::vector<u32> starts;
	u32 slices = 0;
};

u32 number_of(const std::string &digits)
{
	return static_cast<u32>(std::stoul(digits));
}

// "GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1"
std::map<u32, Placements> read_placements(const std::string &text)
{
	static const std::regex form(
		R"(Profile ID {1,9}(\d{1,4}) Placements? {0,9}: {0,9}\{([0-9, ]{1,99})\} {0,9}: {0,9}(\d{1,4}))");
	static const std::regex number(R"(\d{1,4})");
	std::map<u32, Placements> all;

	for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i) {
		const std::string starts = (*i)[2];
		Placements places{.starts{}, .slices = number_of((*i)[3])};
		for (std::sregex_iterator s(starts.begin(), starts.end(), number); s != end; ++s)
			places.starts.push_back(number_of((*s)[0]));
		all.try_emplace(number_of((*i)[1]), std::move(places));
	}
	return all;
}

} // namespace

MigGpu parse_mig_profiles(const std::string &text, const std::string &name)
{
	// GPU, name, profile, free/total, memory, P2P, SMs; names with + and - differ by media engines only
	static const std::regex form(
		R"(\| {0,9}\d{1,4} {1,9}MIG {1,9}((\d{1,2})g\.[0-9a-z]{1,9}) {1,40}(\d{1,4}) {1,40}\d{1,4}/(\d{1,2}) {1,40}[0-9.]{1,9} )"
		R"({1,40}(?:Yes|No) {1,40}(\d{1,5}) )");
	const std::map<u32, Placements> placements = read_placements(text);
	const MigGpu *known =
		find_mig_gpu(std::nullopt, 66); // numbers, slices and starts are the same on all with seven slices
	MigGpu gpu{.name = name, .die = 0, .tpcs = 0, .assumed{}, .profiles{}, .sm_slices = 0};
	std::set<u32> seen;
	auto refuse = [&](const std::string &why) { throw Error(Error::Input, name + ": " + why); };

	for (std::sregex_iterator i(text.begin(), text.end(), form), end; i != end; ++i) {
		const std::smatch &row = *i;
		MigProfile p{.id = number_of(row[3]),
			     .name = row[2].str() + "g",
			     .sm_slices = number_of(row[2]),
			     .memory_slices = 0,
			     .starts{},
			     .sms = number_of(row[5])};
		if (!seen.insert(p.id).second)
			continue; // of another GPU
		auto placed = placements.find(p.id);
		auto same = std::find_if(known->profiles.begin(), known->profiles.end(), [&](const MigProfile &k) {
			return k.id == p.id && k.sm_slices == p.sm_slices;
		});
		if (placed != placements.end()) {
			p.starts = placed->second.starts;
			p.memory_slices = placed->second.slices;
		} else if (same != known->profiles.end()) {
			p.starts = same->starts;
			p.memory_slices = same->memory_slices;
		} else {
			refuse(fmt::format(
				"where instances of profile {} ({}) may begin is not there; add the output of "
				"nvidia-smi mig -lgipp",
				p.id, row[1].str()));
		}
		if (!p.sm_slices || !p.memory_slices || !p.sms || p.sms > MOST_SMS || p.memory_slices > MOST_SLICES ||
		    *std::max_element(p.starts.begin(), p.starts.end()) >= MOST_SLICES)
			refuse(fmt::format("profile {} ({}) has numbers that no GPU has", p.id, row[1].str()));
		gpu.sm_slices =
			std::max(gpu.sm_slices, p.sm_slices * number_of(row[4])); // as many instances are possible
		gpu.profiles.push_back(std::move(p));
	}
	if (gpu.profiles.empty() || gpu.profiles.size() > MOST_PROFILES)
		refuse("not the output of nvidia-smi mig -lgip: " +
		       (gpu.profiles.empty() ? "no row of a profile is there"
					     : fmt::format("it has {} profiles", gpu.profiles.size())));
	return gpu;
}

} // namespace tool::plan
