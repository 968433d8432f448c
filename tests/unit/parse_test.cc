// SPDX-License-Identifier: GPL-2.0
// Ids as users write them. The rules are docs/proc.md's: decimal, 0x hex or 0 octal, one trailing newline, RUNLIST:ID;
// EINVAL for what is no number, ERANGE for numbers beyond 32 bits.
#include "parse.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace {

struct Parsed {
	int err;
	lens_ref ref{12345, 67890};
};

Parsed parse_ref(const std::string &text)
{
	// An exact copy on the heap, so that the sanitizer detects a read beyond its end.
	std::unique_ptr<char[]> exact(new char[text.size()]);
	memcpy(exact.get(), text.data(), text.size());
	Parsed p{0};
	p.err = lens_parse_ref(exact.get(), text.size(), &p.ref);
	return p;
}

TEST(Parse, BareIdsInThreeBases)
{
	const struct {
		const char *text;
		u32 id;
	} rows[] = {
		{"0", 0},
		{"5", 5},
		{"42\n", 42},
		{"4095", 4095},
		{"0x5", 5},
		{"0X1f", 31},
		{"0xABCdef", 11259375},
		{"0x0", 0},
		{"010", 8},
		{"00", 0},
		{"0777\n", 511},
		{"00000000000000000000000000000007", 7},
		{"4294967295", 4294967295u},
		{"0xffffffff", 4294967295u},
		{"037777777777", 4294967295u},
		{"0x00000000000000000ff", 255},
	};
	for (const auto &r : rows) {
		Parsed p = parse_ref(r.text);
		EXPECT_EQ(p.err, 0) << r.text;
		EXPECT_EQ(p.ref.runlist, LENS_NONE) << r.text;
		EXPECT_EQ(p.ref.id, r.id) << r.text;
	}
}

TEST(Parse, IdsWithTheirRunlist)
{
	const struct {
		const char *text;
		int runlist;
		u32 id;
	} rows[] = {
		{"0:0", 0, 0},     {"2:5", 2, 5},        {"0x10:0x20\n", 16, 32},
		{"010:010", 8, 8}, {"3:0x7ff", 3, 2047}, {"2147483647:4294967295", 2147483647, 4294967295u},
	};
	for (const auto &r : rows) {
		Parsed p = parse_ref(r.text);
		EXPECT_EQ(p.err, 0) << r.text;
		EXPECT_EQ(p.ref.runlist, r.runlist) << r.text;
		EXPECT_EQ(p.ref.id, r.id) << r.text;
	}
}

TEST(Parse, TextThatIsNoNumberIsInvalid)
{
	for (const std::string text : {
		     "",     "\n",      "\n\n", " ",     "five", "0x",    "0X",    "0x\n",   "0xg",  "x5",
		     "5x",   "5 ",      " 5",   "\t5",   "5\t",  "5\n\n", "5\r\n", "\n5",    "5,6",  "5 6",
		     "5.0",  "5.",      "-1",   "-0",    "+5",   "--5",   "1e3",   "08",     "09",   "0778",
		     "0b1",  "0x-5",    "0x 5", "5;",    "'5'",  "5u",    "0x5L",  "five\n", "5\nx", ":",
		     ":5",   "5:",      "2:\n", "2:5:7", "2::5", "2: 5",  "2 :5",  "2:x",    "x:5",  "2:-1",
		     "-1:5", "2:5\n\n", "2:08", "0x:5",  "2:0x", "2:5 ",
	     })
		EXPECT_EQ(parse_ref(text).err, -EINVAL) << '"' << text << '"';
}

TEST(Parse, BytesThatAreNoTextAreInvalid)
{
	EXPECT_EQ(parse_ref(std::string("5\0", 2)).err, -EINVAL);
	EXPECT_EQ(parse_ref(std::string("\0", 1)).err, -EINVAL);
	EXPECT_EQ(parse_ref(std::string("5\0\n", 3)).err, -EINVAL);
	EXPECT_EQ(parse_ref("\xff\xfe").err, -EINVAL);
	EXPECT_EQ(parse_ref("\xd9\xa5").err, -EINVAL); // the digit five in another script
	EXPECT_EQ(parse_ref("2:\x80").err, -EINVAL);
}

TEST(Parse, NumbersBeyond32BitsAreOutOfRange)
{
	for (const char *text :
	     {"4294967296", "4294967296\n", "0x100000000", "040000000000", "18446744073709551616",
	      "99999999999999999999999999999999", "0xffffffffffffffffffffffffffffff", "2:4294967296", "4294967296:2",
	      "2147483648:0", "4294967295:0", "4294967296:4294967296", "18446744073709551617"})
		EXPECT_EQ(parse_ref(text).err, -ERANGE) << text;
}

// Trailing text takes precedence over an overflow.
TEST(Parse, TooBigAndNoNumberIsInvalid)
{
	for (const char *text : {"4294967296x", "99999999999999999999 ", "0x100000000g", "4294967296:x", "x:4294967296",
				 "4294967296:", ":4294967296"})
		EXPECT_EQ(parse_ref(text).err, -EINVAL) << text;
}

// No legal id has more than 32 characters; a longer text is not parsed.
TEST(Parse, LongTextIsInvalidAndNotScanned)
{
	EXPECT_EQ(parse_ref(std::string(32, '0')).err, 0);
	EXPECT_EQ(parse_ref(std::string(32, '0') + "\n").err, 0);
	EXPECT_EQ(parse_ref(std::string(33, '0')).err, -EINVAL);
	EXPECT_EQ(parse_ref(std::string(33, '9')).err, -EINVAL);
	EXPECT_EQ(parse_ref(std::string(1 << 20, '1')).err, -EINVAL);
	EXPECT_EQ(parse_ref(std::string(1 << 20, ':')).err, -EINVAL);
}

// Every text of up to three characters out of those that matter: accepted exactly when it is one of the forms.
TEST(Parse, ShortTextsAreAcceptedExactlyWhenTheyAreIds)
{
	const std::string alphabet = "0178afx:\n -";
	auto number = [](const std::string &s) {
		if (s.empty())
			return false;
		if (s[0] == '0' && s.size() > 1 && s[1] == 'x')
			return s.size() > 2 && s.find_first_not_of("0178af", 2) == std::string::npos;
		if (s[0] == '0' && s.size() > 1)
			return s.find_first_not_of("017") == std::string::npos;
		return s.find_first_not_of("0178") == std::string::npos;
	};
	size_t accepted = 0;
	auto check = [&](const std::string &s) {
		std::string t = !s.empty() && s.back() == '\n' ? s.substr(0, s.size() - 1) : s;
		size_t colon = t.find(':');
		bool ok = colon == std::string::npos ? number(t)
						     : number(t.substr(0, colon)) && number(t.substr(colon + 1));
		EXPECT_EQ(parse_ref(s).err, ok ? 0 : -EINVAL) << '"' << s << '"';
		accepted += ok;
	};
	for (char a : alphabet) {
		check({a});
		for (char b : alphabet) {
			check({a, b});
			for (char c : alphabet)
				check({a, b, c});
		}
	}
	// 4 of one character; 15, and 4 with a newline, of two; 63, 15 with a newline and 16 with a colon of three
	EXPECT_EQ(accepted, 117u);
}

struct Sampling {
	int err;
	lens_sampling how{777, 2, {5, 6}};
};

Sampling parse_sampling(const std::string &text)
{
	std::unique_ptr<char[]> exact(new char[text.size()]);
	memcpy(exact.get(), text.data(), text.size());
	Sampling s{0};
	s.err = lens_parse_sampling(exact.get(), text.size(), &s.how);
	return s;
}

std::vector<u32> list_runlists(const lens_sampling &how)
{
	return {how.runlists, how.runlists + how.n};
}

// Seen failing, each in just the tests that say so: with a runlist taken twice, any character for the space, no lower
// bound, one runlist too many (the sanitizer's finding), and nothing stored.
TEST(ParseSampling, PeriodAndRunlists)
{
	const struct {
		const char *text;
		u32 period;
		std::vector<u32> runlists;
	} rows[] = {
		{"100", 100, {}},
		{"10", 10, {}},
		{"1000000\n", 1000000, {}},
		{"200 0 1", 200, {0, 1}},
		{"200 1 0\n", 200, {1, 0}},
		{"0100 007", 100, {7}}, // decimal, also with a leading 0
		{"100 4294967295", 100, {4294967295u}},
	};
	for (const auto &r : rows) {
		Sampling s = parse_sampling(r.text);
		EXPECT_EQ(s.err, 0) << r.text;
		EXPECT_EQ(s.how.period_us, r.period) << r.text;
		EXPECT_EQ(list_runlists(s.how), r.runlists) << r.text;
	}
}

TEST(ParseSampling, InvalidTextIsEinvalAndChangesNothing)
{
	const std::string texts[] = {
		"",
		"\n",
		" ",
		" 100",
		"100 ",
		"100  1",
		"100\t1",
		"100,1",
		"0x64",
		"1e3",
		"-100",
		"+100",
		"100 -1",
		"100 0x1",
		"100 1 ",
		"100 1a",
		"100\n\n",
		"100 1 1",
		"100 1\n2",
		"a",
		"100 a",
		"9 1 x",
		std::string("100\0", 4),
		std::string("100 \0", 5),
	};
	for (const auto &text : texts) {
		Sampling s = parse_sampling(text);
		EXPECT_EQ(s.err, -EINVAL) << text;
		EXPECT_EQ(s.how.period_us, 777u) << text;
		EXPECT_EQ(list_runlists(s.how), (std::vector<u32>{5, 6})) << text;
	}
}

TEST(ParseSampling, OutOfBoundsIsErangeAndChangesNothing)
{
	for (const char *text : {"0", "9", "1000001", "4294967296", "18446744073709551716", "9 1", "100 4294967296",
				 "100 4294967296 0", "100 99999999999999999999999999", "9 4294967296\n"}) {
		Sampling s = parse_sampling(text);
		EXPECT_EQ(s.err, -ERANGE) << text;
		EXPECT_EQ(s.how.period_us, 777u) << text;
	}
}

TEST(ParseSampling, AsManyRunlistsAsThereCanBeAndNotOneMore)
{
	std::string text = "100";
	for (u32 i = 0; i < 64; i++)
		text += " " + std::to_string(i);
	EXPECT_EQ(parse_sampling(text).err, 0);
	EXPECT_EQ(parse_sampling(text).how.n, 64u);
	EXPECT_EQ(parse_sampling(text + " 64").err, -EINVAL);
	EXPECT_EQ(parse_sampling("100 " + std::string(600, '0')).err, -EINVAL);
}

/* -- an id and a number -- */

struct ParsedPair {
	int err;
	lens_ref ref{12345, 67890};
	u32 value = 99999;
};

ParsedPair parse_pair(const std::string &text)
{
	std::unique_ptr<char[]> exact(new char[text.size()]);
	memcpy(exact.get(), text.data(), text.size());
	ParsedPair p{0};
	p.err = lens_parse_request(exact.get(), text.size(), LENS_FORM_ID_VALUE, &p.ref, &p.value);
	return p;
}

TEST(ParsePair, IdsInAllFormsAndADecimalNumber)
{
	const struct {
		const char *text;
		int runlist;
		u32 id, value;
	} rows[] = {
		{"3 1000", LENS_NONE, 3, 1000},
		{"2:5 1000\n", 2, 5, 1000},
		{"0x1f 0", LENS_NONE, 31, 0},
		{"010 010", LENS_NONE, 8, 10},
		{"0x10:0x20 1\n", 16, 32, 1},
		{"0 00", LENS_NONE, 0, 0},
		{"4095 4294967295", LENS_NONE, 4095, 4294967295u},
		{"127:4095 8556380", 127, 4095, 8556380},
	};
	for (const auto &r : rows) {
		ParsedPair p = parse_pair(r.text);
		EXPECT_EQ(p.err, 0) << r.text;
		EXPECT_EQ(p.ref.runlist, r.runlist) << r.text;
		EXPECT_EQ(p.ref.id, r.id) << r.text;
		EXPECT_EQ(p.value, r.value) << r.text;
	}
}

TEST(ParsePair, AnythingElseIsInvalid)
{
	for (const std::string text : {"",
				       "\n",
				       " ",
				       "3",
				       "3\n",
				       "3 ",
				       "3 \n",
				       " 3",
				       " 3 1000",
				       "3  1000",
				       "3 1000 ",
				       "3\t1000",
				       "3 \t1000",
				       "3 1000 5",
				       "3 1000\n\n",
				       "3\n1000",
				       "3 -1",
				       "3 +1",
				       "3 0x10",
				       "3 1f",
				       "3 1000us",
				       "3 1.5",
				       "3 1e3",
				       "3 0:1000",
				       "3:1000",
				       "x 1000",
				       "2: 1000",
				       ":2 1000",
				       "2:3:4 1000",
				       "08 1000",
				       "3,1000",
				       "3 1000\r\n",
				       "3 4294967296x",
				       "4294967296x 1",
				       "4294967296 x",
				       "x 4294967296"})
		EXPECT_EQ(parse_pair(text).err, -EINVAL) << '"' << text << '"';
	EXPECT_EQ(parse_pair(std::string("3 1\0", 4)).err, -EINVAL);
	EXPECT_EQ(parse_pair(std::string("3\0 1", 4)).err, -EINVAL);
	EXPECT_EQ(parse_pair("3 " + std::string(31, '0')).err, -EINVAL); // longer than any legal text
	EXPECT_EQ(parse_pair("3 " + std::string(30, '0')).err, 0);
	EXPECT_EQ(parse_pair(std::string(1 << 20, ' ')).err, -EINVAL);
}

TEST(ParsePair, NumbersBeyond32BitsAreOutOfRange)
{
	for (const char *text : {"3 4294967296", "4294967296 3", "4294967296 4294967296\n", "2147483648:3 1000",
				 "3 99999999999999999999", "0x100000000 5"})
		EXPECT_EQ(parse_pair(text).err, -ERANGE) << text;
}

} // namespace
