// SPDX-License-Identifier: GPL-2.0
// Checks values of JSON input, and words the errors.
#include "lib/base/format.hpp"
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <unordered_set>

namespace tool {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t MAX_QUOTED = 40; // characters of a value in a message
constexpr size_t MAX_ERROR = 200; // likewise, of the parser's own message
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

// Returns text as printable ASCII, truncated.
std::string shorten_text(const std::string &text, size_t length)
{
	std::string out = text.substr(0, length);

	std::replace_if(
		out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
	return text.size() > length ? out + "..." : out;
}

// Reads the text once without building a document, and refuses what the parser lets pass or describes badly: a key that an
// object has already, and a number that no double can hold. Throws Error. Not a callback of json::parse(), which takes
// quadratic time for a list of objects.
class Checker : public nlohmann::json_sax<json> {
public:
	Checker(std::string file, std::string repeatable) : file_(std::move(file)), repeatable_(std::move(repeatable))
	{
	}

	bool null() override { return end_value(); }
	bool boolean(bool) override { return end_value(); }
	bool number_integer(number_integer_t) override { return end_value(); }
	bool number_unsigned(number_unsigned_t) override { return end_value(); }
	bool number_float(number_float_t, const string_t &) override { return end_value(); }
	bool string(string_t &) override { return end_value(); }
	bool binary(binary_t &) override { return end_value(); }
	bool start_object(std::size_t) override { return begin(false); }
	bool start_array(std::size_t) override { return begin(true); }
	bool end_object() override { return end(); }
	bool end_array() override { return end(); }

	bool key(string_t &key) override
	{
		Level &level = levels_.back();
		bool known = level.many.empty()
				     ? std::find(level.keys.begin(), level.keys.end(), key) != level.keys.end()
				     : level.many.contains(key);
		if (known && key != repeatable_)
			throw Error(Error::Input,
				    fmt::format("{}: {} is given twice", place(levels_.size() - 1), quote_value(key)));
		level.keys.push_back(key);
		if (level.keys.size() == FEW_KEYS)
			level.many.insert(level.keys.begin(), level.keys.end());
		else if (level.keys.size() > FEW_KEYS)
			level.many.insert(key);
		return true;
	}

	bool parse_error(std::size_t, const std::string &token, const nlohmann::detail::exception &e) override
	{
		if (dynamic_cast<const json::out_of_range *>(&e))
			throw Error(Error::Input, fmt::format("{}: {} is out of range", place(levels_.size()),
							      shorten_text(token, MAX_QUOTED)));
		// "[json.exception.parse_error.101] parse error at line 3, column 5: ..."
		std::string error = e.what();
		size_t end = error.find("] ");
		throw Error(Error::Input,
			    file_ + ": not JSON: " +
				    shorten_text(end == std::string::npos ? error : error.substr(end + 2), MAX_ERROR));
	}

private:
	static constexpr size_t FEW_KEYS = 16; // that are searched one by one
	struct Level {
		bool list = false;
		size_t index = 0;
		std::vector<std::string> keys; // the last one is that of the next value
		std::unordered_set<std::string> many;
	};

	bool begin(bool list)
	{
		levels_.emplace_back().list = list;
		return true;
	}

	bool end()
	{
		levels_.pop_back();
		return end_value();
	}

	bool end_value()
	{
		if (!levels_.empty())
			levels_.back().index++;
		return true;
	}

	// Returns "FILE: tasks[0].period_us", the place of the next value.
	std::string place(size_t depth) const
	{
		std::string text;

		for (size_t i = 0; i < depth; i++)
			text += levels_[i].list
					? fmt::format("[{}]", levels_[i].index)
					: (text.empty() ? "" : ".") +
						  shorten_text(levels_[i].keys.empty() ? "" : levels_[i].keys.back(),
							       MAX_QUOTED);
		return text.empty() ? file_ : file_ + ": " + text;
	}

	std::string file_, repeatable_;
	std::vector<Level> levels_;
};

} // namespace

std::string quote_value(const json &value)
{
	std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);

	return text.size() > MAX_QUOTED ? text.substr(0, MAX_QUOTED) + "..." : text;
}

json parse_json(const std::string &text, const std::string &name, const std::string &repeatable)
{
	if (depth_of(text) > MAX_DEPTH)
		throw Error(Error::Input,
			    fmt::format("{}: lists and objects are nested more than {} deep", name, MAX_DEPTH));
	Checker checker(name, repeatable);
	json::sax_parse(text, &checker);
	return json::parse(text);
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

	if (!is_plain_word(n))
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
