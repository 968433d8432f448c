// SPDX-License-Identifier: GPL-2.0
// Where each number of a profile comes from: "sources" has three lists of names, SECTION or SECTION.KEY, and the names
// of a number are the same for all members of a "list". See emulator/README.md.
#include "model/profile.hpp"

#include <map>
#include <set>

namespace emu {

namespace {

const char *const KINDS[] = {"card", "manual", "invented"};

bool is_text(const std::string &key)
{
	return key == "name" || key == "marketing" || key == "family" || key == "source" || key == "sources";
}

// SECTION.KEY of each number, and KEY of those that are in no section.
std::set<std::string> numbers_of(const Entry &profile)
{
	std::set<std::string> names;
	for (const auto &[section, value] : profile.value().items()) {
		if (is_text(section))
			continue;
		if (!value.is_object()) {
			names.insert(section);
			continue;
		}
		Entry source = profile.at(section).at("source");
		if (source.text().empty())
			source.refuse("empty");
		for (const auto &[key, inner] : value.items()) {
			if (is_text(key))
				continue;
			if (key != "list") {
				names.insert(std::string(section).append(".").append(key));
				continue;
			}
			for (const Entry &member : profile.at(section).at("list").items())
				for (const auto &[field, number] : member.value().items())
					if (!is_text(field))
						names.insert(std::string(section).append(".").append(field));
		}
	}
	return names;
}

} // namespace

void check_sources(const Entry &profile)
{
	Entry sources = profile.at("sources");
	std::map<std::string, bool> used; // by the name that sources gives
	for (const char *kind : KINDS)
		for (const Entry &name : sources.at(kind).items())
			if (!used.emplace(name.text(), false).second)
				name.refuse(name.text() + " is named twice");
	if (sources.value().size() != std::size(KINDS))
		sources.refuse("must have card, manual and invented, and nothing else");

	for (const std::string &number : numbers_of(profile)) {
		auto found = used.find(number);
		if (found == used.end()) // the whole section
			found = used.find(number.substr(0, number.find('.')));
		if (found == used.end())
			sources.refuse("must say where " + number + " comes from");
		found->second = true;
	}
	for (const auto &[name, any] : used)
		if (!any)
			sources.refuse("names " + name + ", which this profile does not have");
}

} // namespace emu
