// SPDX-License-Identifier: GPL-2.0
// A value of a profile or scenario with the name of its document and the key that leads to it, so that each error names
// both: "profile gp106.json: pci.bar0_size: ...". All functions but find() throw std::invalid_argument.
#pragma once
#include "model/bits.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace emu {

// The text of a JSON parser's error, without the library's own number of it.
std::string parse_error_text(const nlohmann::json::exception &e);
// Numbers in profiles, scenarios and control commands: JSON numbers or strings such as "0x7f00".
u64 read_number(const nlohmann::json &v);
// Errors name the key.
u64 read_number(const nlohmann::json &obj, const char *key, u64 otherwise);

class Entry {
public:
	// document: "profile gp106.json". value has to outlive the entry.
	Entry(const nlohmann::json &value, std::string document) : Entry(value, std::move(document), "") {}
	Entry(nlohmann::json &&, std::string) = delete;

	const nlohmann::json &value() const { return *value_; }
	const std::string &document() const { return document_; }
	const std::string &key() const { return key_; }
	[[noreturn]] void refuse(const std::string &problem) const;

	Entry at(const std::string &key) const;
	std::optional<Entry> find(const std::string &key) const; // nothing: there is no such key
	std::vector<Entry> items() const;                        // of a list

	// Refuses what T cannot hold.
	template <typename T = u64> T number() const { return static_cast<T>(number_up_to(highest<T>())); }
	template <typename T = u64> T number(const char *key, T otherwise) const
	{
		auto entry = find(key);
		return entry ? entry->number<T>() : otherwise;
	}
	bool flag(const char *key, bool otherwise) const;
	std::string text() const;
	std::string text(const char *key, const std::string &otherwise) const;

private:
	Entry(const nlohmann::json &value, std::string document, std::string key)
		: value_(&value), document_(std::move(document)), key_(std::move(key))
	{
	}
	template <typename T> static constexpr u64 highest() { return u64(std::numeric_limits<T>::max()); }
	u64 number_up_to(u64 highest) const;

	const nlohmann::json *value_;
	std::string document_, key_;
};

} // namespace emu
