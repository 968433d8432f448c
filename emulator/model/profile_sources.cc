// SPDX-License-Identifier: GPL-2.0
// Where each number of a profile comes from: "sources" has three lists of names, SECTION or SECTION.KEY, and the names
// of a number are the same for all members of a "list". See emulator/README.md.
#include "model/profile.hpp"

#include <map>
#include <set>
#include <stdexcept>

namespace emu {

using nlohmann::json;

namespace {

const char *const KINDS[] = {"card", "manual", "invented"};

[[noreturn]] void refuse(const std::string &why)
{
	throw std::invalid_argument("profile: " + why);
}

bool is_text(const std::string &key)
{
	return key == "name" || key == "marketing" || key == "family" || key == "source" || key == "sources";
}

// SECTION.KEY of each number, and KEY of those that are in no section.
std::set<std::string> numbers_of(const json &profile)
{
	std::set<std::string> names;
	for (const auto &[section, value] : profile.items()) {
		if (is_text(section))
			continue;
		if (!value.is_object()) {
			names.insert(section);
			continue;
		}
		if (!value.contains("source") || value["source"].get<std::string>().empty())
			refuse(section + " has no source");
		for (const auto &[key, inner] : value.items()) {
			if (is_text(key))
				continue;
			if (key != "list") {
				names.insert(section + "." + key);
				continue;
			}
			for (const auto &member : inner)
				for (const auto &[field, number] : member.items())
					if (!is_text(field))
						names.insert(section + "." + field);
		}
	}
	return names;
}

} // namespace

void check_sources(const json &profile)
{
	if (!profile.contains("sources"))
		refuse("sources is missing");
	const json &sources = profile["sources"];
	std::map<std::string, bool> used; // by the name that sources gives
	for (const char *kind : KINDS) {
		if (!sources.contains(kind))
			refuse(std::string("sources.") + kind + " is missing");
		for (const auto &name : sources[kind])
			if (!used.emplace(name.get<std::string>(), false).second)
				refuse("sources names " + name.get<std::string>() + " twice");
	}
	if (sources.size() != std::size(KINDS))
		refuse("sources has card, manual and invented, and nothing else");

	for (const std::string &number : numbers_of(profile)) {
		auto found = used.find(number);
		if (found == used.end()) // the whole section
			found = used.find(number.substr(0, number.find('.')));
		if (found == used.end())
			refuse("sources does not say where " + number + " comes from");
		found->second = true;
	}
	for (const auto &[name, any] : used)
		if (!any)
			refuse("sources names " + name + ", which this profile does not have");
}

} // namespace emu
