// SPDX-License-Identifier: GPL-2.0
// Formats and parses the JSON.
#include "lib/launch/partition_entry.hpp"

#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tool {

namespace {

constexpr size_t MAX_STRING = 64; // bytes of an address, a method or a scope
constexpr u32 MAX_TPCS = 65536;
constexpr char GPU[] = "gpu", METHOD[] = "way", SCOPE[] = "scope", TPCS[] = "tpcs", GPCS[] = "gpcs";

std::string string_in(const nlohmann::json &entry, const char *key)
{
	return replace_controls(entry.at(key).get<std::string>().substr(0, MAX_STRING));
}

std::vector<u32> numbers_in(const nlohmann::json &entry, const char *key)
{
	std::vector<u32> list = outside_numbers(entry.at(key), MAX_TPCS, MAX_TPCS);

	std::sort(list.begin(), list.end());
	list.erase(std::unique(list.begin(), list.end()), list.end());
	return list;
}

} // namespace

std::string format_partitions(const std::vector<PartitionEntry> &list)
{
	nlohmann::json json = nlohmann::json::array();

	for (const PartitionEntry &entry : list)
		json.push_back({{GPU, entry.gpu},
				{METHOD, entry.method},
				{SCOPE, entry.scope},
				{TPCS, entry.tpcs},
				{GPCS, entry.gpcs}});
	return json.dump();
}

std::vector<PartitionEntry> parse_partitions(const std::string &text)
{
	std::vector<PartitionEntry> list;

	for (const nlohmann::json &entry : parse_outside(text))
		list.push_back({.gpu = string_in(entry, GPU),
				.method = string_in(entry, METHOD),
				.scope = string_in(entry, SCOPE),
				.tpcs = numbers_in(entry, TPCS),
				.gpcs = numbers_in(entry, GPCS)});
	return list;
}

} // namespace tool
