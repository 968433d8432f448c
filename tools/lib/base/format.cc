// SPDX-License-Identifier: GPL-2.0
// Formats and parses numbers, times and names.
#include "lib/base/format.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <strings.h>
#include <fmt/ranges.h>
#include <map>
#include <string_view>

namespace tool {

namespace {

constexpr double MAX_NS = 1e18; // 31 years

} // namespace

bool is_plain_word(const std::string &text)
{
	return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::string format_ranges(const std::vector<u32> &sorted)
{
	std::vector<std::string> parts;

	for (size_t i = 0, j; i < sorted.size(); i = j) {
		for (j = i + 1; j < sorted.size() && sorted[j] == sorted[j - 1] + 1;)
			j++;
		parts.push_back(j - i > 1 ? fmt::format("{}-{}", sorted[i], sorted[j - 1]) : std::to_string(sorted[i]));
	}
	return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

// Decodes the first character, and sets its number of bytes. Returns nothing if it is not UTF-8.
std::optional<char32_t> decode_utf8(std::string_view text, size_t &bytes)
{
	auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
	char32_t c = byte(0);

	bytes = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	if (bytes < 2)
		return bytes ? std::optional(c) : std::nullopt;
	c &= 0x7fU >> bytes;
	for (size_t i = 1; i < bytes; i++) {
		if ((byte(i) & 0xc0) != 0x80)
			return std::nullopt;
		c = c << 6 | (byte(i) & 0x3f);
	}
	static const char32_t minimum[] = {0x80, 0x800, 0x10000};
	return c < minimum[bytes - 2] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? std::nullopt : std::optional(c);
}

// Returns whether terminals act on it: C0, C1, and characters that change the direction of text.
bool is_control(char32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200e && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

} // namespace

std::string replace_controls(std::string name)
{
	size_t out = 0;

	for (size_t in = 0, bytes; in < name.size(); in += bytes) {
		std::optional<char32_t> c = decode_utf8(std::string_view(name).substr(in), bytes);
		bytes = c ? bytes : 1;
		if (!c || is_control(*c))
			name[out++] = '?';
		else
			for (size_t i = 0; i < bytes; i++)
				name[out++] = name[in + i];
	}
	name.resize(out);
	return name;
}

std::string format_duration(u64 ns)
{
	if (ns >= 1000000000)
		return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
	if (ns >= 1000000)
		return fmt::format("{:.3f} ms", static_cast<double>(ns) / 1e6);
	return fmt::format("{:.3f} us", static_cast<double>(ns) / 1e3);
}

std::string format_measured(u64 ns, u64 step_ns, const std::string &unit)
{
	struct Unit {
		const char *name;
		double ns;
	};
	static constexpr Unit UNITS[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
	bool below = step_ns && ns < step_ns + step_ns / 2;
	double value = static_cast<double>(below ? 2 * step_ns : ns);
	const Unit *chosen = &UNITS[2];

	for (const Unit &u : UNITS)
		if (unit.empty() ? chosen == &UNITS[2] && value >= u.ns : unit == u.name)
			chosen = &u;
	int decimals = 3;
	if (step_ns) {
		double decade = std::pow(10, std::floor(std::log10(static_cast<double>(step_ns)) + 1e-9));
		value = std::round(value / decade) * decade;
		decimals = std::clamp(static_cast<int>(std::lround(std::log10(chosen->ns / decade))), 0, 3);
	}
	return fmt::format("{}{:.{}f}{}{}", below ? "<" : "", value / chosen->ns, decimals, unit.empty() ? " " : "",
			   unit.empty() ? chosen->name : "");
}

std::string format_share(double share, u64 observations)
{
	if (observations && observations < 100)
		return fmt::format("{}/{}", std::lround(share * static_cast<double>(observations)), observations);
	return fmt::format("{:.{}f}", share * 100, observations && observations < 1000 ? 0 : 1);
}

bool is_same_address(const std::string &a, const std::string &b)
{
	return !a.empty() && strcasecmp(a.c_str(), b.c_str()) == 0;
}

std::vector<std::string> split_text(const std::string &text, char at)
{
	std::vector<std::string> parts(1);

	for (char c : text)
		if (c == at)
			parts.emplace_back();
		else
			parts.back() += c;
	return parts;
}

std::string format_bytes(u64 bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double v = static_cast<double>(bytes);
	size_t unit = 0;

	while (v >= 1024 && unit < 4) {
		v /= 1024;
		unit++;
	}
	return unit ? fmt::format("{:.1f} {}", v, units[unit]) : fmt::format("{} bytes", bytes);
}

std::optional<u64> parse_duration(const std::string &text, u64 unit_ns)
{
	static const std::map<std::string, u64> units = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
							 {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
	const char *end = text.data() + text.size();
	double n = 0;
	std::from_chars_result r = std::from_chars(text.data(), end, n, std::chars_format::fixed);
	std::string unit(r.ptr, end);

	if (r.ec != std::errc() || !(n >= 0) || n > 1e9 || (!unit.empty() && !units.count(unit)))
		return std::nullopt;
	double ns = n * static_cast<double>(unit.empty() ? unit_ns : units.at(unit));
	// The sum with a clock's time must not overflow.
	if (ns > MAX_NS)
		return std::nullopt;
	return static_cast<u64>(std::llround(ns));
}

} // namespace tool
