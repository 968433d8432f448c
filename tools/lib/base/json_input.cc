// SPDX-License-Identifier: GPL-2.0
// Checks values of JSON input, and words the errors.
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <fmt/ranges.h>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t MAX_QUOTED = 40; // characters of a value in a message
constexpr size_t MAX_DEPTH = 64;  // the parser takes some 80 bytes for each level, which takes one byte of text

// Returns the maximum nesting depth of lists and objects.
size_t depth_of(const std::string &text)
{
	size_t depth = 0, max = 0;
	bool quoted = false;

	for (size_t i = 0; i < text.size(); i++) {
		char c = text[i];
		if (c == '"')
			quoted = !quoted;
		else if (c == '\\' && quoted)
			i++;
		else if (!quoted && (c == '[' || c == '{'))
			max = std::max(max, ++depth);
		else if (!quoted && depth && (c == ']' || c == '}'))
			depth--;
	}
	return max;
}

} // namespace

std::string quote_value(const json &value)
{
	std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);

	return text.size() > MAX_QUOTED ? text.substr(0, MAX_QUOTED) + "..." : text;
}

json parse_json(const std::string &text, const std::string &name)
{
	if (depth_of(text) > MAX_DEPTH)
		throw Error(Error::Input,
			    fmt::format("{}: lists and objects are nested more than {} deep", name, MAX_DEPTH));
	try {
		return json::parse(text);
	} catch (const json::exception &e) {
		// "[json.exception.parse_error.101] parse error at line 3, column 5: ...", or of a number that is too large
		std::string error = e.what();
		size_t end = error.find("] ");
		throw Error(Error::Input,
			    name + ": not JSON: " + (end == std::string::npos ? error : error.substr(end + 2)));
	}
}

Item::Item(const json &object, std::string where) : json_(object), where_(std::move(where))
{
	if (!json_.is_object())
		refuse(quote_value(json_) + " is not an object");
}

void Item::check_keys(const std::vector<const char *> &keys) const
{
	for (const auto &[key, value] : json_.items())
		if (std::none_of(keys.begin(), keys.end(), [k = key](const char *known) { return k == known; }))
			refuse(fmt::format("unknown key {}; expected one of {}", quote_value(key),
					   fmt::join(keys, ", ")));
}

const json &Item::at(const char *key) const
{
	if (!has(key))
		refuse(fmt::format("{} is missing", key));
	return json_[key];
}

std::string Item::string(const char *key) const
{
	const json &v = at(key);

	if (!v.is_string())
		refuse(fmt::format("{} is {}, not a string", key, quote_value(v)));
	return v.get<std::string>();
}

std::string Item::name(const char *key) const
{
	std::string n = string(key);

	if (n.empty() || std::any_of(n.begin(), n.end(), [](char c) { return c <= ' ' || c > '~'; }))
		refuse(fmt::format("{} is {}; it must be printable ASCII without blanks, and not empty", key,
				   quote_value(n)));
	return n;
}

double Item::number(const char *key, double min, double max, const char *unit) const
{
	const json &v = at(key);

	if (!v.is_number() || !(v.get<double>() >= min && v.get<double>() <= max))
		refuse(fmt::format("{} is {}, not {} from {} to {}", key, quote_value(v), unit, min, max));
	return v.get<double>();
}

uint32_t Item::integer(const char *key, uint32_t min, uint32_t max) const
{
	const json &v = at(key);

	if (!v.is_number_unsigned() || v.get<uint64_t>() < min || v.get<uint64_t>() > max)
		refuse(fmt::format("{} is {}, not a whole number from {} to {}", key, quote_value(v), min, max));
	return v.get<uint32_t>();
}

std::vector<uint32_t> Item::numbers(const char *key, uint32_t max) const
{
	const json &v = at(key);
	std::vector<uint32_t> list;

	if (!v.is_array())
		refuse(fmt::format("{} is {}, not a list of numbers", key, quote_value(v)));
	for (const json &number : v) {
		if (!number.is_number_unsigned() || number.get<uint64_t>() > max)
			refuse(fmt::format("{} has {}, not a number from 0 to {}", key, quote_value(number), max));
		list.push_back(number.get<uint32_t>());
	}
	return list;
}

std::string describe_item(const json &object, const char *kind, size_t index, const char *key)
{
	bool named = object.is_object() && object.contains(key) && object[key].is_string();

	return fmt::format("{} {}", kind, named ? quote_value(object[key]) : std::to_string(index));
}

} // namespace tool
