// SPDX-License-Identifier: GPL-2.0
// std::from_chars() takes no prefix, so the base is chosen here: 0x is hexadecimal, any other leading 0 octal. A negative
// JSON number is refused before the conversion, which would make it a large one.
#include "model/entry.hpp"

#include <charconv>
#include <stdexcept>

namespace emu {

using nlohmann::json;

namespace {

// "0x7f00", "0755" or "12"; nothing: text that is no such number.
std::optional<u64> parse_number(std::string_view s)
{
	int base = 10;
	if (s.starts_with("0x") || s.starts_with("0X"))
		base = 16, s.remove_prefix(2);
	else if (s.size() > 1 && s.front() == '0')
		base = 8;
	u64 n = 0;
	auto [end, err] = std::from_chars(s.data(), s.data() + s.size(), n, base);
	if (err != std::errc() || end != s.data() + s.size())
		return std::nullopt;
	return n;
}

} // namespace

std::string parse_error_text(const json::exception &e)
{
	std::string text = e.what(); // "[json.exception.parse_error.101] parse error at line 1, ..."
	size_t end = text.find("] ");
	return end == text.npos ? text : text.substr(end + 2);
}

u64 read_number(const json &v)
{
	if (v.is_string()) {
		const auto &s = v.get_ref<const std::string &>();
		if (std::optional<u64> n = parse_number(s))
			return *n;
		throw std::invalid_argument("not a number: " + s);
	}
	if (v.is_number_integer() && v.get<int64_t>() < 0 && !v.is_number_unsigned())
		throw std::invalid_argument("negative number: " + v.dump());
	if (!v.is_number_integer())
		throw std::invalid_argument("not a number: " + v.dump());
	return v.get<u64>();
}

u64 read_number(const json &obj, const char *key, u64 otherwise)
{
	auto it = obj.find(key);
	if (it == obj.end())
		return otherwise;
	try {
		return read_number(*it);
	} catch (const std::invalid_argument &e) {
		throw std::invalid_argument(std::string(key) + ": " + e.what());
	}
}

void Entry::refuse(const std::string &problem) const
{
	throw std::invalid_argument(document_ + ": " + (key_.empty() ? "" : key_ + ": ") + problem);
}

std::optional<Entry> Entry::find(const std::string &key) const
{
	if (!value_->is_object())
		refuse("not an object");
	auto it = value_->find(key);
	if (it == value_->end())
		return std::nullopt;
	return Entry(*it, document_, key_.empty() ? key : key_ + "." + key);
}

Entry Entry::at(const std::string &key) const
{
	std::optional<Entry> entry = find(key);
	if (!entry)
		Entry(*value_, document_, key_.empty() ? key : key_ + "." + key).refuse("missing");
	return *entry;
}

std::vector<Entry> Entry::items() const
{
	std::vector<Entry> list;
	if (!value_->is_array())
		refuse("not a list");
	for (const json &item : *value_)
		list.push_back(Entry(item, document_, key_ + "[" + std::to_string(list.size()) + "]"));
	return list;
}

u64 Entry::number_up_to(u64 highest) const
{
	u64 n = 0;
	try {
		n = read_number(*value_);
	} catch (const std::invalid_argument &e) {
		refuse(e.what());
	}
	if (n > highest)
		refuse(value_->dump() + " is larger than " + std::to_string(highest));
	return n;
}

bool Entry::flag(const char *key, bool otherwise) const
{
	auto entry = find(key);
	if (!entry)
		return otherwise;
	if (!entry->value_->is_boolean())
		entry->refuse("neither true nor false: " + entry->value_->dump());
	return entry->value_->get<bool>();
}

std::string Entry::text() const
{
	if (!value_->is_string())
		refuse("not a string: " + value_->dump());
	return value_->get<std::string>();
}

std::string Entry::text(const char *key, const std::string &otherwise) const
{
	auto entry = find(key);
	return entry ? entry->text() : otherwise;
}

} // namespace emu
