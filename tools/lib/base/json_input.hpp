// SPDX-License-Identifier: GPL-2.0
// A user's JSON file, read so that every message names the file, the item in it and the reason.
#pragma once

#include "lib/base/errors.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

// A value as a message repeats it: on one line, in ASCII, not long.
std::string shown(const nlohmann::ordered_json &value);
// All below throw Error. name: of the file.
nlohmann::ordered_json parse_json(const std::string &text, const std::string &name);

// An object of the file, which knows what it is called. The JSON must outlive it.
class Item {
public:
	Item(const nlohmann::ordered_json &object, std::string where);

	[[noreturn]] void refuse(const std::string &why) const { throw Error(Error::Input, where_ + ": " + why); }
	const std::string &where() const { return where_; }
	bool has(const char *key) const { return json_.contains(key); }
	// No keys but these.
	void only(const std::vector<const char *> &keys) const;
	const nlohmann::ordered_json &at(const char *key) const;
	std::string word(const char *key) const;
	// What is printed in columns, on a terminal: printable ASCII without blanks.
	std::string name(const char *key = "name") const;
	double number(const char *key, double least, double most, const char *what) const;
	uint32_t integer(const char *key, uint32_t least, uint32_t most) const;
	Item object(const char *key) const { return {at(key), where_ + ": " + key}; }
	std::vector<uint32_t> numbers(const char *key, uint32_t most) const;
	const nlohmann::ordered_json &value() const { return json_; }

private:
	const nlohmann::ordered_json &json_;
	std::string where_;
};

// "task camera" where it has such a name, else "task 3" of the list.
std::string called(const nlohmann::ordered_json &object, const char *what, size_t index, const char *key = "name");

// Calls take(item) for each of a list.
template <typename Take>
void each(const Item &file, const char *key, const char *what, Take take, const char *named = "name")
{
	const nlohmann::ordered_json &list = file.at(key);
	size_t index = 0;

	if (!list.is_array())
		file.refuse(fmt::format("{} is {}, not a list", key, shown(list)));
	for (const nlohmann::ordered_json &one : list)
		take(Item(one, fmt::format("{}: {}", file.where(), called(one, what, index++, named))));
}

} // namespace tool
