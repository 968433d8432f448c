// SPDX-License-Identifier: GPL-2.0
// A recorded GPU in memory: registers and words of memory that somebody saw, and nothing else. What is not in it is
// "not recorded", never zero. Reading the text form is image_parse.cc, writing it image_write.cc, decoding what it
// holds is not here at all.
//
// The text form is version 1 of docs/image-format.md:
//
//	gpulens-image 1
//	chip boot0=0x136000a1 boot42=0x13600000
//	pci 0000:01:00.0 0x10de:0x1c02
//	r 0x00022700 0x4000007f			a register: BAR0 offset, value
//	v 0x0001f0000 00000f01 80020000 ...	GPU memory: byte address, 32-bit words; s, b1, b2 likewise
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Words of an address space, sparse. add() in any order, then finish(), then find(). A hostile file of n bytes costs
// a few times n: at least 9 bytes of text stand for a word, which takes 4 bytes, and 16 more while finish() sorts.
class WordSpace {
public:
	struct Run {
		uint64_t addr; // of the first word, bytes, 4-byte aligned
		size_t first;  // index into the words
		size_t count;
	};

	void add(uint64_t addr, uint32_t word);
	// Sorts. Of words at the same address the one added last stays.
	void finish();

	std::optional<uint32_t> find(uint64_t addr) const;
	const std::vector<Run> &runs() const { return runs_; }
	uint32_t word(size_t index) const { return words_[index]; }
	size_t size() const { return words_.size(); }

private:
	std::vector<Run> runs_;
	std::vector<uint32_t> words_;
};

// BAR0 registers. Not a WordSpace: they come one to a line, where a Run each would be wasteful.
class RegisterSpace {
public:
	void add(uint32_t off, uint32_t value);
	void finish();

	std::optional<uint32_t> find(uint32_t off) const;
	size_t size() const { return keys_.size(); }
	uint32_t offset(size_t i) const { return static_cast<uint32_t>(keys_[i] >> 32); }
	uint32_t value(size_t i) const { return values_[static_cast<uint32_t>(keys_[i])]; }

private:
	std::vector<uint64_t> keys_; // offset << 32 | index of its value
	std::vector<uint32_t> values_;
};

struct Image {
	std::optional<uint32_t> boot0, boot42;
	std::string pci_address; // "0000:01:00.0", empty: not recorded
	std::string platform;    // "17000000.ga10b"; from the comment "# platform NAME"
	std::optional<uint32_t> pci_vendor, pci_device;
	RegisterSpace regs;
	WordSpace vid, sys, bar1, bar2;

	void finish();
	// What /proc/gpuX/chip says of the device's place.
	std::string where() const { return !pci_address.empty() ? pci_address : platform; }
};

// Why a file is not an image. line 0: the whole file.
struct ImageError {
	size_t line = 0;
	std::string text;
};

struct ImageResult {
	std::optional<Image> image; // finished
	ImageError error;           // when there is none
};

// text is not kept.
ImageResult parse_image(std::string_view text);

// image must be finished. Sorted, eight words a line.
std::string write_image(const Image &image);

} // namespace tool
