// SPDX-License-Identifier: GPL-2.0
// Parses the text format of images, in one pass, because files of 100 MB must load in seconds. Strict: any line that does
// not parse completely is an error, because a partly read word would be decoded as if it had been recorded.
//
// Numbers are hexadecimal with 0x; the words of v, s, b1 and b2 lines may also be exactly eight digits without it.
#include "lib/source/image/image.hpp"

#include <cctype>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace tool {

namespace {

constexpr char MAGIC[] = "gpulens-image";
constexpr char VERSION[] = "1";
constexpr uint32_t BOOT_0 = 0x0, BOOT_42 = 0xa00; // NV_PMC_BOOT_0, NV_PMC_BOOT_42

__attribute__((format(printf, 1, 2))) std::string format_text(const char *fmt, ...)
{
	char buf[256];
	va_list args;

	va_start(args, fmt);
	std::vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	return buf;
}

// Quotes input for a message: at most 32 characters, and no control characters.
std::string quote_input(std::string_view s)
{
	std::string out = "\"";

	for (char c : s.substr(0, 32))
		out += c >= ' ' && c <= '~' ? c : '?';
	return out + (s.size() > 32 ? "...\"" : "\"");
}

bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

enum class Number { Ok, Malformed, TooLarge };

// 0x and digits, at most max_digits after leading zeros.
Number parse_hex(std::string_view s, size_t max_digits, uint64_t &val)
{
	size_t significant = 0;

	if (s.size() < 3 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X'))
		return Number::Malformed;
	val = 0;
	for (char c : s.substr(2)) {
		int d = digit_value(c);
		if (d < 0)
			return Number::Malformed;
		if (significant || d)
			significant++;
		val = val << 4 | static_cast<uint64_t>(d);
	}
	return significant > max_digits ? Number::TooLarge : Number::Ok;
}

class Parser {
public:
	explicit Parser(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

	ImageResult run();

private:
	// Moves to the next line. Returns false at the end of the file.
	bool next_line();
	// Returns the next word of the line; empty at its end or at a comment.
	std::string_view next_word();
	bool parse_line(std::string_view kind);
	bool parse_chip();
	bool parse_pci();
	void parse_platform();
	bool parse_register();
	bool parse_words(WordSpace &space);
	bool parse_number(std::string_view word, const char *item, size_t max_digits, uint64_t &val);
	bool expect_end_of_line();
	bool fail(std::string text);
	bool check_boot(uint32_t reg, const char *name, std::optional<uint32_t> chip, size_t reg_line);

	const char *at_, *end_;
	const char *line_ = nullptr, *line_end_ = nullptr;
	bool ended_ = true; // the line had a newline
	size_t line_no_ = 0;
	size_t chip_line_ = 0, pci_line_ = 0, boot0_line_ = 0, boot42_line_ = 0;
	Image image_;
	ImageError error_;
};

bool Parser::fail(std::string text)
{
	if (error_.text.empty())
		error_ = {line_no_, std::move(text)};
	return false;
}

bool Parser::next_line()
{
	if (at_ == end_)
		return false;
	const void *nl = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
	line_ = at_;
	line_end_ = nl ? static_cast<const char *>(nl) : end_;
	at_ = nl ? line_end_ + 1 : end_;
	ended_ = nl;
	line_no_++;
	return true;
}

std::string_view Parser::next_word()
{
	while (line_ < line_end_ && is_blank(*line_))
		line_++;
	const char *start = line_;
	if (line_ < line_end_ && *line_ == '#')
		line_ = line_end_; // the rest is a comment
	else
		while (line_ < line_end_ && !is_blank(*line_) && *line_ != '#')
			line_++;
	return start < line_end_ && *start == '#' ? std::string_view()
						  : std::string_view(start, static_cast<size_t>(line_ - start));
}

bool Parser::parse_number(std::string_view word, const char *item, size_t max_digits, uint64_t &val)
{
	if (word.empty())
		return fail(format_text("%s is missing", item));
	switch (parse_hex(word, max_digits, val)) {
	case Number::Malformed: return fail(format_text("%s is not a number like 0x1f: ", item) + quote_input(word));
	case Number::TooLarge:
		return fail(format_text("%s has more than %zu bits: ", item, max_digits * 4) + quote_input(word));
	case Number::Ok: break;
	}
	return true;
}

bool Parser::expect_end_of_line()
{
	std::string_view rest = next_word();

	return rest.empty() || fail("unexpected text at the end of the line: " + quote_input(rest));
}

bool Parser::parse_chip()
{
	if (chip_line_)
		return fail(format_text("a second chip line; the first is line %zu", chip_line_));
	chip_line_ = line_no_;
	for (std::string_view w = next_word(); !w.empty(); w = next_word()) {
		uint64_t val;
		bool is_boot0 = w.substr(0, 6) == "boot0=", is_boot42 = w.substr(0, 7) == "boot42=";
		if (!is_boot0 && !is_boot42)
			return fail("a chip line has boot0= and boot42= only: " + quote_input(w));
		if (!parse_number(w.substr(is_boot0 ? 6 : 7), is_boot0 ? "boot0" : "boot42", 8, val))
			return false;
		std::optional<uint32_t> &to = is_boot0 ? image_.boot0 : image_.boot42;
		if (to)
			return fail(format_text("%s is repeated", is_boot0 ? "boot0" : "boot42"));
		to = static_cast<uint32_t>(val);
	}
	return image_.boot0 || fail("a chip line without boot0=");
}

// dddd:bb:dd.f, as Linux prints it.
bool is_pci_address(std::string_view s)
{
	constexpr std::string_view form = "hhhh:hh:hh.h";
	size_t extra = s.size() > form.size() ? s.size() - form.size() : 0; // domains may have up to 8 digits

	if (s.size() < form.size() || extra > 4)
		return false;
	for (size_t i = 0; i < s.size(); i++) {
		char want = i < extra ? 'h' : form[i - extra];
		if (want == 'h' ? digit_value(s[i]) < 0 : s[i] != want)
			return false;
	}
	return true;
}

// The format has no line for the name of a platform device (Tegra). The module writes it as a comment, which other
// readers skip; a name with other than plain characters is ignored.
void Parser::parse_platform()
{
	std::string_view line(line_, static_cast<size_t>(line_end_ - line_)), prefix = "# platform ";

	if (line.substr(0, prefix.size()) != prefix)
		return;
	std::string_view name = line.substr(prefix.size());
	for (char c : name)
		if (!std::isalnum(static_cast<unsigned char>(c)) &&
		    std::string_view("._-:").find(c) == std::string_view::npos)
			return;
	if (!name.empty() && name.size() < 32)
		image_.platform = name;
}

bool Parser::parse_pci()
{
	uint64_t vendor, device;

	if (pci_line_)
		return fail(format_text("a second pci line; the first is line %zu", pci_line_));
	pci_line_ = line_no_;
	std::string_view address = next_word(), ids = next_word();
	if (!is_pci_address(address))
		return fail("not a PCI address like 0000:01:00.0: " + quote_input(address));
	image_.pci_address = address;
	if (ids.empty())
		return true;
	size_t colon = ids.find(':');
	if (colon == ids.npos)
		return fail("not PCI ids like 0x10de:0x1c02: " + quote_input(ids));
	if (!parse_number(ids.substr(0, colon), "the PCI vendor", 4, vendor) ||
	    !parse_number(ids.substr(colon + 1), "the PCI device", 4, device))
		return false;
	image_.pci_vendor = static_cast<uint32_t>(vendor);
	image_.pci_device = static_cast<uint32_t>(device);
	return expect_end_of_line();
}

bool Parser::parse_register()
{
	uint64_t off, val;

	if (!parse_number(next_word(), "the register's offset", 8, off) ||
	    !parse_number(next_word(), "the register's value", 8, val))
		return false;
	if (off & 3)
		return fail(format_text("the register's offset 0x%08" PRIx64 " is not a multiple of 4", off));
	if (off == BOOT_0)
		boot0_line_ = line_no_;
	if (off == BOOT_42)
		boot42_line_ = line_no_;
	image_.regs.add(static_cast<uint32_t>(off), static_cast<uint32_t>(val));
	return expect_end_of_line();
}

bool Parser::parse_words(WordSpace &space)
{
	uint64_t addr, val;

	if (!parse_number(next_word(), "the address", 16, addr))
		return false;
	if (addr & 3)
		return fail(format_text("the address 0x%" PRIx64 " is not a multiple of 4", addr));
	std::string_view w = next_word();
	if (w.empty())
		return fail("an address without words");
	for (; !w.empty(); w = next_word(), addr += 4) {
		if (w.size() == 8 && w[1] != 'x' && w[1] != 'X') {
			val = 0;
			for (char c : w) {
				int d = digit_value(c);
				if (d < 0)
					return fail("not a word of 8 hexadecimal digits: " + quote_input(w));
				val = val << 4 | static_cast<uint64_t>(d);
			}
		} else if (parse_hex(w, 8, val) != Number::Ok) {
			return fail("not a word of 8 hexadecimal digits: " + quote_input(w));
		}
		space.add(addr, static_cast<uint32_t>(val));
		if (addr == ~uint64_t{3} && line_ < line_end_ && !next_word().empty())
			return fail("words beyond the last address");
	}
	return true;
}

bool Parser::parse_line(std::string_view kind)
{
	if (kind == "r")
		return parse_register();
	if (kind == "v")
		return parse_words(image_.vid);
	if (kind == "s")
		return parse_words(image_.sys);
	if (kind == "b1")
		return parse_words(image_.bar1);
	if (kind == "b2")
		return parse_words(image_.bar2);
	if (kind == "chip")
		return parse_chip();
	if (kind == "pci")
		return parse_pci();
	return fail("unknown kind of line: " + quote_input(kind));
}

// A chip line and the recorded register must be equal. If one is missing, the other is used.
bool Parser::check_boot(uint32_t reg, const char *name, std::optional<uint32_t> chip, size_t reg_line)
{
	std::optional<uint32_t> seen = image_.regs.find(reg);

	if (!chip || (seen && *seen == *chip))
		return true;
	if (!seen) {
		image_.regs.add(reg, *chip);
		image_.regs.finish();
		return true;
	}
	line_no_ = reg_line > chip_line_ ? reg_line : chip_line_;
	return fail(format_text("r 0x%08x says 0x%08x (line %zu), the chip line %s=0x%08x (line %zu)", reg, *seen,
				reg_line, name, *chip, chip_line_));
}

ImageResult Parser::run()
{
	ImageResult result;
	bool good;

	line_no_ = 0;
	if (!next_line()) {
		line_no_ = 1;
		good = fail("the file is empty; an image begins with \"gpulens-image 1\"");
	} else {
		std::string_view magic = next_word(), version = next_word();
		if (magic != MAGIC)
			good = fail("not an image; one begins with \"gpulens-image 1\"");
		else if (version != VERSION)
			good = fail("version " + quote_input(version) + " of the format; this program reads version 1");
		else
			good = expect_end_of_line();
	}
	while (good && next_line()) {
		parse_platform();
		std::string_view kind = next_word();
		if (kind.empty())
			continue;
		good = parse_line(kind);
		// A line that ends with the file may be truncated within a number.
		if (!ended_ && (good || line_ == line_end_)) {
			error_.text.clear();
			good = fail("the file ends within this line");
		}
	}
	if (good) {
		image_.finish();
		good = check_boot(BOOT_0, "boot0", image_.boot0, boot0_line_) &&
		       check_boot(BOOT_42, "boot42", image_.boot42, boot42_line_);
	}
	if (good && !image_.regs.find(BOOT_0)) {
		line_no_ = 0;
		good = fail("the chip is unknown: there is neither a chip line nor r 0x00000000");
	}
	if (good)
		result.image = std::move(image_);
	else
		result.error = std::move(error_);
	return result;
}

} // namespace

ImageResult parse_image(std::string_view text)
{
	return Parser(text).run();
}

} // namespace tool
