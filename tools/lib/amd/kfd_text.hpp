// SPDX-License-Identifier: GPL-2.0
// Lines of the text files of the kernel's driver for AMD GPUs (amdkfd), and the rows of words in them.
//
// Source: torvalds/linux. lib/hexdump.c and fs/seq_file.c, seq_hex_dump() with DUMP_PREFIX_OFFSET, rows of 32 bytes in
// groups of 4: the indent, the offset in bytes as 8 digits, a colon, and a blank and 8 digits for each word.
// drivers/gpu/drm/amd/amdkfd/kfd_device_queue_manager.c, seq_reg_dump(): the same with the address of a register, and a
// new row wherever addresses do not follow each other.
#pragma once
#include "gpulens/types.h"
#include "lib/base/errors.hpp"

#include <initializer_list>
#include <string>
#include <vector>

namespace tool::amd {

constexpr size_t ROW_WORDS = 8; // at most

// A row of words. first: the offset or address, in bytes.
struct WordRow {
	u32 first = 0;
	std::vector<u32> words{};
};

// A cursor over the lines of a file. Errors are Error (Input) that begin with "NAME:LINE: ".
class KfdText {
public:
	// Throws if the last line has no end: the file was cut off.
	KfdText(std::string name, const std::string &text);

	bool at_end() const { return next_ == lines_.size(); }
	const std::string &line() const { return lines_[next_]; }
	void advance() { next_++; }
	// Number of the line, from 1.
	u32 number() const { return u32(next_ + 1); }
	const std::string &name() const { return name_; }
	[[noreturn]] void refuse(const std::string &reason) const { refuse_at(number(), reason); }
	[[noreturn]] void refuse_at(u32 number, const std::string &reason) const;
	// Throws: the line is none that the kernel writes here.
	[[noreturn]] void refuse_line() const;

	// Takes a dump of memory with this indent, whose offsets begin at 0, up to the next line of another kind or the next
	// offset 0. Returns its words; none if the line is no row.
	std::vector<u32> take_dump(size_t indent);
	// Takes rows of registers with this indent.
	std::vector<WordRow> take_registers(size_t indent);

private:
	// Parses the current line. Returns false if it is no row of this indent.
	bool parse_row(size_t indent, WordRow &row) const;

	std::string name_;
	std::vector<std::string> lines_;
	size_t next_ = 0;
};

// Returns the number in two words, the lower half first.
inline u64 join_words(const u32 *words)
{
	return u64{words[1]} << 32 | words[0];
}

// Compares a line with a pattern, in which %d stands for a decimal number and %x for a hexadecimal one, of 32 bits. Returns
// whether all of the line agrees, and stores the numbers.
bool scan_line(const std::string &line, const char *pattern, std::initializer_list<u32 *> numbers);

} // namespace tool::amd
