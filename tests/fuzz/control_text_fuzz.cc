// SPDX-License-Identifier: GPL-2.0
// The parsers of text that is written to control files and to samples: any text. An accepted number must be the one
// that strtoull() returns.
// Seen failing with a parse_number() that reads one digit beyond the text, and with one that accepts any character as a
// space.
#include "parse.h"
#include "room.hpp"

#include <string>

namespace {

// Copies: of the exact size, so that a read beyond it is found, and with a terminating zero for strtoull().
fuzz::Room<char, 64> room;
char text[64];

u64 parse_by_libc(const char *s)
{
	char *end;
	u64 v = std::strtoull(s, &end, 0);

	FUZZ_CHECK(*s && *end == 0);
	return v;
}

// Accepted text is the first number and the n others as decimals, with a space between two, and nothing else.
void check_numbers(const char *given, size_t size, u64 first, const u32 *others, u32 n)
{
	std::string rest(given, given[size - 1] == '\n' ? size - 1 : size);

	FUZZ_CHECK(rest.find_first_not_of("0123456789 ") == std::string::npos);
	for (u32 i = 0; i <= n; i++) {
		size_t space = rest.find(' ');
		FUZZ_CHECK((space == std::string::npos) == (i == n));
		FUZZ_CHECK(std::strtoull(rest.c_str(), nullptr, 10) == (i ? others[i - 1] : first));
		rest.erase(0, space == std::string::npos ? rest.size() : space + 1);
	}
}

// Accepted text has the parsed numbers as decimals and nothing else. Refused text leaves the result unchanged.
void check_sampling(const char *given, size_t size)
{
	lens_sampling parsed{1, 0, {}};
	int err = lens_parse_sampling(given, size, &parsed);

	FUZZ_CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err) {
		FUZZ_CHECK(parsed.period_us == 1 && parsed.n == 0);
		return;
	}
	FUZZ_CHECK(parsed.period_us >= 10 && parsed.period_us <= 1000000 && parsed.n <= 64);
	check_numbers(given, size, parsed.period_us, parsed.runlists, parsed.n);
}

void check_ref(const lens_ref &ref, int err)
{
	char *colon = std::strchr(text, ':');

	if (colon)
		*colon = 0;
	u64 id = parse_by_libc(colon ? colon + 1 : text), runlist = colon ? parse_by_libc(text) : 0;
	if (err == -ERANGE) {
		FUZZ_CHECK(id > 0xffffffff || runlist > 0x7fffffff);
		return;
	}
	FUZZ_CHECK(ref.id == id);
	FUZZ_CHECK(ref.runlist == (colon ? static_cast<int>(runlist) : LENS_NONE));
}

// Copies an accepted text without its newline and terminates it.
void copy_text(const uint8_t *data, size_t size)
{
	size_t len = data[size - 1] == '\n' ? size - 1 : size;

	FUZZ_CHECK(!std::memchr(data, 0, size));
	std::memcpy(text, data, len);
	text[len] = 0;
}

void check_id_and_value(const char *given, const uint8_t *data, size_t size)
{
	lens_ref ref{};
	u32 value = 0;
	int err = lens_parse_request(given, size, LENS_FORM_ID_VALUE, &ref, &value);

	FUZZ_CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err == -EINVAL)
		return;
	copy_text(data, size);
	char *space = std::strchr(text, ' '), *end;
	FUZZ_CHECK(space && space[1] >= '0' && space[1] <= '9');
	u64 v = std::strtoull(space + 1, &end, 10);
	FUZZ_CHECK(*end == 0);
	*space = 0;
	FUZZ_CHECK(err || v == value);
	if (!err || v <= 0xffffffff)
		check_ref(ref, err);
}

// ID, ID MS or * MS.
void check_hold(const char *given, const uint8_t *data, size_t size)
{
	lens_ref ref{};
	u32 ms = 0, v = 0;
	int err = lens_parse_request(given, size, LENS_FORM_HOLD, &ref, &ms);

	FUZZ_CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err)
		return;
	FUZZ_CHECK(ms <= 1000);
	copy_text(data, size);
	char *space = std::strchr(text, ' ');
	FUZZ_CHECK(!space == !ms);
	if (ref.runlist == LENS_ALL) {
		FUZZ_CHECK(space && text[0] == '*' && space == text + 1);
		FUZZ_CHECK(std::strtoull(space + 1, nullptr, 10) == ms);
	} else if (space) {
		FUZZ_CHECK(!lens_parse_request(given, size, LENS_FORM_ID_VALUE, &ref, &v) && v == ms);
	} else {
		check_ref(ref, 0);
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lens_ref ref{};

	if (size >= sizeof(text))
		return 0;
	char *given = room.get(size);
	if (size)
		std::memcpy(given, data, size);
	check_sampling(given, size);
	check_id_and_value(given, data, size);
	check_hold(given, data, size);
	int err = lens_parse_ref(given, size, &ref);
	FUZZ_CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err == -EINVAL)
		return 0;
	copy_text(data, size);
	check_ref(ref, err);
	return 0;
}
