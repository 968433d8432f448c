// SPDX-License-Identifier: GPL-2.0
// Rows must have whole words and offsets without gaps: a file that was cut off would else be decoded from wrong positions.
#include "lib/amd/kfd_text.hpp"

#include "lib/base/format.hpp"

#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace tool::amd {

namespace {

constexpr size_t DIGITS = 8; // of a word, an offset and an address

// Parses exactly 8 hexadecimal digits at a position.
bool parse_word(const std::string &text, size_t at, u32 &word)
{
	if (at + DIGITS > text.size())
		return false;
	const char *first = text.data() + at, *last = first + DIGITS;
	auto [end, err] = std::from_chars(first, last, word, 16);
	return err == std::errc() && end == last;
}

} // namespace

KfdText::KfdText(std::string name, const std::string &text) : name_(std::move(name)), lines_(split_text(text, '\n'))
{
	if (!lines_.back().empty())
		refuse_at(u32(lines_.size()), "the line has no end; the file was cut off");
	lines_.pop_back();
}

void KfdText::refuse_at(u32 number, const std::string &reason) const
{
	throw Error(Error::Input, fmt::format("{}:{}: {}", name_, number, reason));
}

void KfdText::refuse_line() const
{
	refuse(fmt::format("\"{}\": the kernel's driver writes no such line here",
			   replace_controls(line().substr(0, 80))));
}

bool KfdText::parse_row(size_t indent, WordRow &row) const
{
	const std::string &text = line();
	size_t at = indent + DIGITS;

	if (text.find_first_not_of(' ') != indent || !parse_word(text, indent, row.first) || text.substr(at, 2) != ": ")
		return false;
	row.words.clear();
	for (at++; at < text.size(); at += 1 + DIGITS) {
		u32 word = 0;
		if (text[at] != ' ' || !parse_word(text, at + 1, word) || row.words.size() == ROW_WORDS)
			refuse(fmt::format("expected up to {} words of {} hexadecimal digits; the line may be cut off",
					   ROW_WORDS, DIGITS));
		row.words.push_back(word);
	}
	return true;
}

std::vector<u32> KfdText::take_dump(size_t indent)
{
	std::vector<u32> words;
	WordRow row;

	for (; !at_end() && parse_row(indent, row); advance()) {
		if (!words.empty() && row.first == 0)
			break;
		if (row.first != words.size() * sizeof(u32))
			refuse(fmt::format("offset {:#x} where {:#x} follows; rows are missing", row.first,
					   words.size() * sizeof(u32)));
		words.insert(words.end(), row.words.begin(), row.words.end());
	}
	return words;
}

std::vector<WordRow> KfdText::take_registers(size_t indent)
{
	std::vector<WordRow> rows;

	for (WordRow row; !at_end() && parse_row(indent, row); advance())
		rows.push_back(row);
	return rows;
}

bool scan_line(const std::string &line, const char *pattern, std::initializer_list<u32 *> numbers)
{
	const char *at = line.data(), *end = at + line.size();
	auto number = numbers.begin();

	for (; *pattern; pattern++) {
		if (*pattern != '%') {
			if (at == end || *at++ != *pattern)
				return false;
			continue;
		}
		auto [after, err] = std::from_chars(at, end, **number++, *++pattern == 'x' ? 16 : 10);
		if (err != std::errc())
			return false;
		at = after;
	}
	return at == end;
}

} // namespace tool::amd
