// SPDX-License-Identifier: GPL-2.0
// Converts masks to hexadecimal text and back.
#include "lib/tpc/tpc_mask.hpp"

#include <algorithm>
#include <charconv>

namespace tool::plan {

namespace {

std::string hex_of(const std::vector<bool> &bits, bool inverted)
{
	std::string digits;

	for (size_t low = 0; low < bits.size(); low += 4) {
		unsigned digit = 0;
		for (size_t i = low; i < std::min(low + 4, bits.size()); i++)
			digit |= static_cast<unsigned>(bits[i] != inverted) << (i - low);
		digits += "0123456789abcdef"[digit];
	}
	std::reverse(digits.begin(), digits.end());
	return "0x" + digits;
}

} // namespace

u32 TpcMask::count() const
{
	return static_cast<u32>(std::count(bits_.begin(), bits_.end(), true));
}

std::vector<u32> TpcMask::tpcs() const
{
	std::vector<u32> list;

	for (u32 i = 0; i < bits_.size(); i++)
		if (bits_[i])
			list.push_back(i);
	return list;
}

std::string TpcMask::hex() const
{
	return hex_of(bits_, false);
}

std::string TpcMask::disable_hex() const
{
	return hex_of(bits_, true);
}

constexpr size_t MAX_DIGITS = 1024; // no GPU has so many TPCs

std::optional<std::vector<u32>> parse_mask(const std::string &text)
{
	const std::string hex = "0123456789abcdef";
	std::vector<u32> list;

	if (text.size() < 3 || text.size() > MAX_DIGITS || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return std::nullopt;
	for (size_t i = text.size(); i-- > 2;) {
		size_t digit = hex.find(static_cast<char>(text[i] >= 'A' && text[i] <= 'F' ? text[i] + 32 : text[i]));
		if (digit == std::string::npos)
			return std::nullopt;
		for (u32 bit = 0; bit < 4; bit++)
			if (digit >> bit & 1)
				list.push_back(static_cast<u32>(text.size() - 1 - i) * 4 + bit);
	}
	return list;
}

std::optional<std::vector<u32>> parse_numbers(const std::string &text, u32 limit)
{
	std::vector<u32> list;
	const char *at = text.data(), *end = at + text.size();

	auto take_number = [&](u32 &number) {
		std::from_chars_result r = std::from_chars(at, end, number);
		at = r.ptr;
		return r.ec == std::errc() && number < limit;
	};
	do {
		u32 first = 0;
		if (!take_number(first))
			return std::nullopt;
		u32 last = first;
		if (at < end && *at == '-' && !take_number((at++, last)))
			return std::nullopt;
		if (last < first || (at < end && *at != ','))
			return std::nullopt;
		for (u32 n = first; n <= last; n++)
			list.push_back(n);
	} while (at++ < end);
	return list;
}

} // namespace tool::plan
