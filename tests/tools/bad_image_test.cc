// SPDX-License-Identifier: GPL-2.0
// Invalid images: each is refused with a message that names the line. The time for a large image is proportional to its
// size.
#include "support/tools/recorded.hpp"

#include <ctime>

using namespace tool_test;

namespace {

struct Bad {
	const char *name;
	std::string text;
	size_t line;
	std::string message;
};

const std::string HEAD = "gpulens-image 1\nchip boot0=0x136000a1\n"; // two lines

const std::vector<Bad> BAD = {
	{"Empty", "", 1, "the file is empty; an image begins with \"gpulens-image 1\""},
	{"BlankLineFirst", "\ngpulens-image 1\n", 1, "not an image; one begins with \"gpulens-image 1\""},
	{"AnotherText", "Engine  Type\n", 1, "not an image; one begins with \"gpulens-image 1\""},
	{"Binary",
	 std::string("\x7f"
		     "ELF\0\1\2\n\xff\xfe\0",
		     11),
	 1, "not an image; one begins with \"gpulens-image 1\""},
	{"AnotherVersion", "gpulens-image 2\n", 1, "version \"2\" of the format; this program reads version 1"},
	{"NoVersion", "gpulens-image\n", 1, "version \"\" of the format; this program reads version 1"},
	{"MoreAfterVersion", "gpulens-image 1 x\n", 1, "unexpected text at the end of the line: \"x\""},
	{"HeadOnly", "gpulens-image 1\n", 0, "the chip is unknown: there is neither a chip line nor r 0x00000000"},
	{"UnknownKind", HEAD + "x 0x1 0x2\n", 3, "unknown kind of line: \"x\""},
	{"AWrite", HEAD + "w 0x00002500 0x1\n", 3, "unknown kind of line: \"w\""},
	{"BinaryLine", HEAD + std::string("r\0\x1b[2J 1\n", 9), 3, "unknown kind of line: \"r??[2J\""},
	{"LongKind", HEAD + "# ok\n" + std::string(5000, 'z') + "\n", 4,
	 "unknown kind of line: \"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz...\""},
	{"RegisterWithoutValue", HEAD + "r 0x00022700\n", 3, "the register's value is missing"},
	{"RegisterWithTwoValues", HEAD + "r 0x00022700 0x1 0x2\n", 3,
	 "unexpected text at the end of the line: \"0x2\""},
	{"RegisterDecimal", HEAD + "r 140032 1\n", 3, "the register's offset is not a number like 0x1f: \"140032\""},
	{"RegisterNotHex", HEAD + "r 0x00022700 0x4000g07f\n", 3,
	 "the register's value is not a number like 0x1f: \"0x4000g07f\""},
	{"RegisterHuge", HEAD + "r 0x00022700 0x14000007f\n", 3,
	 "the register's value has more than 32 bits: \"0x14000007f\""},
	{"RegisterOffsetHuge", HEAD + "r 0xfffffffffffffffffffffffffffff0 0x1\n", 3,
	 "the register's offset has more than 32 bits: \"0xfffffffffffffffffffffffffffff0\""},
	{"RegisterUnaligned", HEAD + "r 0x00022702 0x1\n", 3,
	 "the register's offset 0x00022702 is not a multiple of 4"},
	{"MemoryUnaligned", HEAD + "v 0x1f0002 00000001\n", 3, "the address 0x1f0002 is not a multiple of 4"},
	{"MemoryWithoutWords", HEAD + "v 0x1f0000\n", 3, "an address without words"},
	{"MemoryHugeAddress", HEAD + "v 0x1ffffffffffffffff 00000001\n", 3,
	 "the address has more than 64 bits: \"0x1ffffffffffffffff\""},
	{"MemoryBeyondTheEnd", HEAD + "v 0xfffffffffffffffc 00000001 00000002\n", 3, "words beyond the last address"},
	{"WordTooShort", HEAD + "v 0x1f0000 00000001 0000002\n", 3, "not a word of 8 hexadecimal digits: \"0000002\""},
	{"WordTooLong", HEAD + "v 0x1f0000 000000001\n", 3, "not a word of 8 hexadecimal digits: \"000000001\""},
	{"WordNotHex", HEAD + "s 0x1f0000 0000000x\n", 3, "not a word of 8 hexadecimal digits: \"0000000x\""},
	{"TruncatedInARegister", HEAD + "r 0x00022700 0x4000", 3, "the file ends within this line"},
	{"TruncatedInAWord", HEAD + "v 0x1f0000 00000001 000", 3, "the file ends within this line"},
	{"TruncatedInAnAddress", HEAD + "v 0x1f", 3, "the file ends within this line"},
	{"ContradictingRegister", HEAD + "# BOOT_0\nr 0x00000000 0x162000a1\n", 4,
	 "r 0x00000000 says 0x162000a1 (line 4), the chip line boot0=0x136000a1 (line 2)"},
	{"ContradictingChipLine", "gpulens-image 1\nr 0x00000000 0x162000a1\nchip boot0=0x136000a1\n", 3,
	 "r 0x00000000 says 0x162000a1 (line 2), the chip line boot0=0x136000a1 (line 3)"},
	{"ContradictingBoot42", "gpulens-image 1\nchip boot0=0x136000a1 boot42=0x13600000\nr 0x00000a00 0x1\n", 3,
	 "r 0x00000a00 says 0x00000001 (line 3), the chip line boot42=0x13600000 (line 2)"},
	{"TwoChipLines", HEAD + "chip boot0=0x136000a1\n", 3, "a second chip line; the first is line 2"},
	{"ChipWithoutBoot0", "gpulens-image 1\nchip boot42=0x1\n", 2, "a chip line without boot0="},
	{"ChipBoot0Twice", "gpulens-image 1\nchip boot0=0x1 boot0=0x1\n", 2, "boot0 is repeated"},
	{"ChipUnknownWord", "gpulens-image 1\nchip boot0=0x1 name=GP106\n", 2,
	 "a chip line has boot0= and boot42= only: \"name=GP106\""},
	{"ChipHuge", "gpulens-image 1\nchip boot0=0x1136000a1\n", 2, "boot0 has more than 32 bits: \"0x1136000a1\""},
	{"PciAddress", HEAD + "pci 01:00.0\n", 3, "not a PCI address like 0000:01:00.0: \"01:00.0\""},
	{"PciIds", HEAD + "pci 0000:01:00.0 10de\n", 3, "not PCI ids like 0x10de:0x1c02: \"10de\""},
	{"PciIdHuge", HEAD + "pci 0000:01:00.0 0x110de:0x1c02\n", 3,
	 "the PCI vendor has more than 16 bits: \"0x110de\""},
};

class BadImage : public testing::TestWithParam<Bad> {};

TEST_P(BadImage, IsRefusedWithLineAndReason)
{
	tool::ImageResult r = tool::parse_image(GetParam().text);

	EXPECT_FALSE(r.image);
	EXPECT_EQ(r.error.line, GetParam().line);
	EXPECT_EQ(r.error.text, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Refused, BadImage, testing::ValuesIn(BAD),
			 [](const testing::TestParamInfo<Bad> &i) { return i.param.name; });

TEST(BadImage, EveryTruncationIsRefusedOrDecodesItsRest)
{
	std::string whole = read_fixture("ga100-by-hand.image");
	tool::Image all = parse_valid(whole);
	size_t decoded = 0;

	for (size_t n = 0; n < whole.size(); n++) {
		tool::ImageResult r = tool::parse_image(std::string_view(whole).substr(0, n));
		if (!r.image) {
			EXPECT_FALSE(r.error.text.empty());
			continue;
		}
		decoded++;
		// No word that the whole file lacks.
		for (size_t i = 0; i < r.image->regs.size(); i++)
			ASSERT_EQ(r.image->regs.value(i), all.regs.find(r.image->regs.offset(i))) << "cut at " << n;
		for (const tool::WordSpace::Run &run : r.image->vid.runs())
			for (size_t i = 0; i < run.count; i++)
				ASSERT_EQ(r.image->vid.word(run.first + i), all.vid.find(run.addr + i * 4));
	}
	EXPECT_GT(decoded, 40U);
}

TEST(LargeImage, HundredMegabytesOfMemoryLoad)
{
	std::string text = HEAD;
	char line[96];
	for (uint32_t addr = 0; text.size() < 100000000; addr += 32) {
		std::snprintf(line, sizeof(line),
			      "v 0x%09x %08x 00000001 00000002 00000003 00000004 00000005 00000006 00000007\n", addr,
			      addr);
		text += line;
	}
	const tool::Image image = parse_valid(text);
	EXPECT_EQ(image.vid.find(0x100000), 0x100000U);
	EXPECT_EQ(image.vid.runs().size(), 1U);
}

// Words in descending order, the worst case for keeping them sorted.
std::string make_descending_words(const char *format, size_t size)
{
	std::string text = HEAD;
	char line[64];
	for (uint32_t off = 0x3fffffc; text.size() < size; off -= 4) {
		std::snprintf(line, sizeof(line), format, off, off);
		text += line;
	}
	return text;
}

// Processor time, so that other work on the machine does not count.
std::clock_t time_of(const std::string &text)
{
	const std::clock_t start = std::clock();

	parse_valid(text);
	return std::clock() - start;
}

struct Falling {
	const char *name;
	const char *format;
	uint32_t value; // of the word at 0x3ff0000
};

class LargeImageWorstOrder : public testing::TestWithParam<Falling> {};

// Four times the text takes four times as long (about 4.3 was seen); inserting each word in its place takes sixteen times.
TEST_P(LargeImageWorstOrder, TakesTimeInProportionToItsSize)
{
	const std::string small = make_descending_words(GetParam().format, 2000000),
			  large = make_descending_words(GetParam().format, 8000000);

	EXPECT_LT(static_cast<double>(time_of(large)), 8.0 * static_cast<double>(time_of(small)));
}

TEST_P(LargeImageWorstOrder, LosesNoWord)
{
	const tool::Image image = parse_valid(make_descending_words(GetParam().format, 2000000));

	EXPECT_EQ(GetParam().format[0] == 'r' ? image.regs.find(0x3ff0000) : image.vid.find(0x3ff0000),
		  GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(Kinds, LargeImageWorstOrder,
			 testing::Values(Falling{"Registers", "r 0x%x 0x%x\n", 0x3ff0000},
					 Falling{"Memory", "v 0x%x %08x\n", 0x3ff0000},
					 // the line for the word before each comes later
					 Falling{"OverlappingMemory", "v 0x%x %08x 5a5a5a5a\n", 0x5a5a5a5a}),
			 [](const auto &info) { return info.param.name; });

} // namespace
