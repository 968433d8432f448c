// SPDX-License-Identifier: GPL-2.0
// Parses a user's JSON file. Each error names the file, the item in it and the reason.
#pragma once

#include "lib/base/errors.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

// Formats a value for a message: one line of ASCII, truncated.
std::string quote_value(const nlohmann::ordered_json &value);
// All functions below throw Error. name: of the file; repeatable: a key that an object may have several times, the last counts.
nlohmann::ordered_json parse_json(const std::string &text, const std::string &name, const std::string &repeatable = "");

// An object of the file, with its name for messages. The JSON must outlive it.
class Item {
public:
	Item(const nlohmann::ordered_json &object, std::string where);

	[[noreturn]] void refuse(const std::string &reason) const { throw Error(Error::Input, where_ + ": " + reason); }
	const std::string &where() const { return where_; }
	bool has(const char *key) const { return json_.contains(key); }
	// Refuses other keys.
	void check_keys(const std::vector<const char *> &keys) const;
	const nlohmann::ordered_json &at(const char *key) const;
	std::string string(const char *key) const;
	// Returns a string for columns on a terminal: printable ASCII without blanks.
	std::string name(const char *key = "name") const;
	double number(const char *key, double min, double max, const char *unit) const;
	uint32_t integer(const char *key, uint32_t min, uint32_t max) const;
	Item object(const char *key) const { return {at(key), where_ + ": " + key}; }
	std::vector<uint32_t> numbers(const char *key, uint32_t max) const;
	const nlohmann::ordered_json &value() const { return json_; }

private:
	const nlohmann::ordered_json &json_;
	std::string where_;
};

// Returns "task camera", or "task 3" with the index if the object has no name. key: of the name.
std::string describe_item(const nlohmann::ordered_json &object, const char *kind, size_t index,
			  const char *key = "name");

// Calls take(item) for each object of a list. name_key: key of an object's name.
template <typename Take>
void for_each_item(const Item &file, const char *key, const char *kind, Take take, const char *name_key = "name")
{
	const nlohmann::ordered_json &list = file.at(key);
	size_t index = 0;

	if (!list.is_array())
		file.refuse(fmt::format("{} is {}, not a list", key, quote_value(list)));
	for (const nlohmann::ordered_json &object : list)
		take(Item(object, fmt::format("{}: {}", file.where(), describe_item(object, kind, index++, name_key))));
}

} // namespace tool
