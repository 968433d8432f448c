// SPDX-License-Identifier: GPL-2.0
// See json_input.hpp.
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <fmt/ranges.h>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t SHOWN = 40;   // characters of a value that a message repeats
constexpr size_t DEEPEST = 64; // the parser takes some 80 bytes for each, of one byte of text

// How many lists and objects are open at once, at most.
size_t depth_of(const std::string &text)
{
	size_t depth = 0, most = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.size(); i++) {
		char c = text[i];
		if (c == '"')
			quoted = !quoted;
		else if (c == '\\' && quoted)
			i++;
		else if (!quoted && (c == '[' || c == '{'))
			most = std::max(most, ++depth);
		else if (!quoted && depth && (c == ']' || c == '}'))
			depth--;
	}
	return most;
}

} // namespace

std::string shown(const json &value)
{
	std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);

	return text.size() > SHOWN ? text.substr(0, SHOWN) + "..." : text;
}

json parse_json(const std::string &text, const std::string &name)
{
	if (depth_of(text) > DEEPEST)
		throw Error(Error::Input, fmt::format("{}: lists and objects in each other to a depth of more than {}",
						      name, DEEPEST));
	try {
		return json::parse(text);
	} catch (const json::exception &e) {
		// "[json.exception.parse_error.101] parse error at line 3, column 5: ...", or of a number that is too large
		std::string why = e.what();
		size_t end = why.find("] ");
		throw Error(Error::Input,
			    name + ": not JSON: " + (end == std::string::npos ? why : why.substr(end + 2)));
	}
}

Item::Item(const json &object, std::string where) : json_(object), where_(std::move(where))
{
	if (!json_.is_object())
		refuse("not an object but " + shown(json_));
}

void Item::only(const std::vector<const char *> &keys) const
{
	for (const auto &[key, value] : json_.items())
		if (std::none_of(keys.begin(), keys.end(), [k = key](const char *o) { return k == o; }))
			refuse(fmt::format("{} is none of {}", shown(key), fmt::join(keys, ", ")));
}

const json &Item::at(const char *key) const
{
	if (!has(key))
		refuse(fmt::format("{} is missing", key));
	return json_[key];
}

std::string Item::word(const char *key) const
{
	const json &v = at(key);

	if (!v.is_string())
		refuse(fmt::format("{} is {}, not a string", key, shown(v)));
	return v.get<std::string>();
}

std::string Item::name(const char *key) const
{
	std::string n = word(key);

	if (n.empty() || std::any_of(n.begin(), n.end(), [](char c) { return c <= ' ' || c > '~'; }))
		refuse(fmt::format("{} is {}, which is empty, or not of printable ASCII without blanks", key,
				   shown(n)));
	return n;
}

double Item::number(const char *key, double least, double most, const char *what) const
{
	const json &v = at(key);

	if (!v.is_number() || !(v.get<double>() >= least && v.get<double>() <= most))
		refuse(fmt::format("{} is {}, not {} from {} to {}", key, shown(v), what, least, most));
	return v.get<double>();
}

uint32_t Item::integer(const char *key, uint32_t least, uint32_t most) const
{
	const json &v = at(key);

	if (!v.is_number_unsigned() || v.get<uint64_t>() < least || v.get<uint64_t>() > most)
		refuse(fmt::format("{} is {}, not a whole number from {} to {}", key, shown(v), least, most));
	return v.get<uint32_t>();
}

std::vector<uint32_t> Item::numbers(const char *key, uint32_t most) const
{
	const json &v = at(key);
	std::vector<uint32_t> list;

	if (!v.is_array())
		refuse(fmt::format("{} is {}, not a list of numbers", key, shown(v)));
	for (const json &one : v) {
		if (!one.is_number_unsigned() || one.get<uint64_t>() > most)
			refuse(fmt::format("{} has {}, not a number from 0 to {}", key, shown(one), most));
		list.push_back(one.get<uint32_t>());
	}
	return list;
}

std::string called(const json &object, const char *what, size_t index, const char *key)
{
	bool named = object.is_object() && object.contains(key) && object[key].is_string();

	return fmt::format("{} {}", what, named ? shown(object[key]) : std::to_string(index));
}

} // namespace tool
