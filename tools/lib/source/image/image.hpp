// SPDX-License-Identifier: GPL-2.0
// A recorded GPU: registers and words of memory that were read. A word that is missing is "not recorded", never zero.
// image_parse.cc reads the text format, image_write.cc writes it; decode.hpp decodes the content.
//
// The text format is version 1 of docs/image-format.md:
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

// The words of an address space, sparse. Call add() in any order, then finish(), then find(). Memory is bounded by a few
// times the size of the file: a word has at least 9 bytes of text, and takes 4 bytes, and 16 more within finish().
class WordSpace {
public:
	struct Run {
		uint64_t addr; // of the first word, bytes, 4-byte aligned
		size_t first;  // index into the words
		size_t count;
	};

	void add(uint64_t addr, uint32_t word);
	// Sorts the words. Of words at the same address, the last one is kept.
	void finish();

	std::optional<uint32_t> find(uint64_t addr) const;
	const std::vector<Run> &runs() const { return runs_; }
	uint32_t word(size_t index) const { return words_[index]; }
	size_t size() const { return words_.size(); }

private:
	std::vector<Run> runs_;
	std::vector<uint32_t> words_;
};

// BAR0 registers. Not a WordSpace, because a Run for each register would waste memory.
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
	// Returns the device's address or platform name, as /proc/gpuX/chip prints it.
	std::string device() const { return !pci_address.empty() ? pci_address : platform; }
};

// Why a file is not an image. line: 0 for the whole file.
struct ImageError {
	size_t line = 0;
	std::string text;
};

struct ImageResult {
	std::optional<Image> image; // finished
	ImageError error;           // if there is no image
};

// Parses the text format. Keeps no reference to text.
ImageResult parse_image(std::string_view text);

// Formats a finished image: sorted, eight words a line.
std::string write_image(const Image &image);

} // namespace tool
