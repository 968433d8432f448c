// SPDX-License-Identifier: GPL-2.0
// Writes an image as /proc/gpuX/image prints it: sorted, eight words of memory a line.
#include "lib/source/image/image.hpp"

#include <cinttypes>
#include <cstdio>

namespace tool {

namespace {

constexpr size_t WORDS_PER_LINE = 8;

template <typename... Args> void append_format(std::string &out, const char *fmt, Args... args)
{
	char buf[64];

	out.append(buf, static_cast<size_t>(std::snprintf(buf, sizeof(buf), fmt, args...)));
}

void append_words(std::string &out, const char *kind, const WordSpace &space)
{
	size_t column = 0;
	uint64_t next = 0;

	// Adjacent runs continue on the same line.
	for (const WordSpace::Run &r : space.runs()) {
		for (size_t i = 0; i < r.count; i++, next += 4) {
			if (column == WORDS_PER_LINE || (column && i == 0 && next != r.addr)) {
				out += '\n';
				column = 0;
			}
			if (i == 0)
				next = r.addr;
			if (!column)
				append_format(out, "%s 0x%09" PRIx64, kind, next);
			append_format(out, " %08x", space.word(r.first + i));
			column++;
		}
	}
	if (column)
		out += '\n';
}

} // namespace

std::string write_image(const Image &image)
{
	std::string out = "gpulens-image 1\n";

	if (image.boot0) {
		append_format(out, "chip boot0=0x%08x", *image.boot0);
		if (image.boot42)
			append_format(out, " boot42=0x%08x", *image.boot42);
		out += '\n';
	}
	if (!image.pci_address.empty()) {
		out += "pci " + image.pci_address;
		if (image.pci_vendor && image.pci_device)
			append_format(out, " 0x%04x:0x%04x", *image.pci_vendor, *image.pci_device);
		out += '\n';
	}
	if (!image.platform.empty())
		out += "# platform " + image.platform + '\n';
	for (size_t i = 0; i < image.regs.size(); i++)
		append_format(out, "r 0x%08x 0x%08x\n", image.regs.offset(i), image.regs.value(i));
	append_words(out, "v", image.vid);
	append_words(out, "s", image.sys);
	append_words(out, "b1", image.bar1);
	append_words(out, "b2", image.bar2);
	return out;
}

} // namespace tool
