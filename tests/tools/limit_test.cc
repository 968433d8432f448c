// SPDX-License-Identifier: GPL-2.0
// gpulens run with limits on generated command lines: no program is started without the limit that its line requests. The
// requested limit and its TPCs are computed independently here. Seen failing for `run -o --tpcs=0-9 -- prog`, where -o
// took the limit as its file.
#include "gpulens/cli/cli.hpp"
#include "lib/launch/environment.hpp"
#include "partition/layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <unistd.h>

using namespace tool;
namespace environment = gpulens::environment;

namespace {

// Sanitizers take twenty times as long; the first 20,000 lines have that -o 25 times. make soak runs all without them.
#ifdef GPULENS_SANITIZED
constexpr unsigned LINES = 20000;
#else
constexpr unsigned LINES = 1000000;
#endif
constexpr unsigned TPCS_OF_GPC[] = {4, 3, 5}; // TPC n is bit n of a launch's mask
constexpr unsigned TPCS = 12;

class Words {
public:
	// plan: name of a PlanFile
	explicit Words(unsigned seed, std::string plan = "none.json") : next_(seed), plan_(std::move(plan)) {}

	unsigned below(unsigned n) { return static_cast<unsigned>(next_() % n); }
	template <typename T, size_t N> const T &pick(const T (&list)[N]) { return list[below(N)]; }

	// A value of a limit: valid, invalid, or random characters.
	std::string value()
	{
		static const char *const good[] = {"0",   "3,5", "0-11", "2-4,7", "0x3", "0xfff",
						   "all", "1",   "2",    "a",     "b"};
		static const char *const bad[] = {
			"",    " ",   ",",    "0,",   ",0",  "0x",     "0x0",  "12",
			"-1",  "+1",  "5-3",  "0 ",   " 0",  "gpc:",   "1-",   "half:c",
			"--",  "0x0", "1e0",  "0b1",  "\t",  "0x1000", "all ", "99999999999999999999",
			"0;1", "0\n", "none", "\xff", "a,b", "gpc:0",  "=",    "0x-1"};
		static const char letters[] = "0123456789,-xabf: ghpl";
		std::string text;

		switch (below(3)) {
		case 0: return pick(good);
		case 1: return pick(bad);
		default:
			for (unsigned n = below(6); n; n--)
				text += letters[below(sizeof(letters) - 1)];
			return text;
		}
	}

	std::vector<std::string> line()
	{
		static const char *const options[] = {"--tpcs", "--gpcs", "--half", "--plan", "--task"};
		static const char *const others[] = {"-o",      "x",      "--",         "prog",     "-x",     "--tpc",
						     "--tpcss", "",       "--output=y", "a b",      "--proc", "-i",
						     "-g",      "--json", "--color",    "--source", "0",      "auto"};
		std::vector<std::string> words = {"run"};

		for (unsigned n = below(2) ? 1 : 1 + below(4); n; n--) {
			std::string option = pick(options);
			switch (below(5)) {
			case 0: words.push_back(option + '=' + value()); break;
			case 4: // both halves of a limit from a plan, or one and a value that is none
				words.push_back("--plan=" + (below(4) ? plan_ : value()));
				words.push_back("--task=" + (below(4) ? "camera" : value()));
				break;
			case 1: words.push_back(pick(others)); break;
			default:
				words.push_back(option);
				if (below(16))
					words.push_back(value());
			}
		}
		if (below(8)) {
			words.emplace_back("--");
			words.emplace_back("prog");
			if (!below(4))
				words.emplace_back(pick(options));
		}
		return words;
	}

private:
	std::mt19937_64 next_;
	std::string plan_;
};

// A plan that gives TPCs 3, 5 and 6 to the task camera, in a file until the end of the test.
class PlanFile {
public:
	PlanFile()
	{
		char name[] = "/tmp/gpulens-limit-test-XXXXXX";
		int fd = mkstemp(name);
		EXPECT_GE(fd, 0);
		close(fd);
		name_ = name;
		std::ofstream(name_) << R"({"version": 1, "command": "plan", "fits": true, "numbering": "smid",
			"device": "0000:01:00.0", "tasks": [{"name": "camera", "partition": 0}],
			"partitions": [{"place": {"tpcs": [3, 5, 6], "gpcs": [0, 1], "mask": "0x068"}}]})";
	}
	PlanFile(const PlanFile &) = delete;
	PlanFile &operator=(const PlanFile &) = delete;
	~PlanFile() { unlink(name_.c_str()); }
	const std::string &name() const { return name_; }

private:
	std::string name_;
};

// The limits that the words before -- request, each as StartProgram must get it. A plan is a limit, whatever its task is:
// only the task camera of the one file has TPCs.
std::set<std::string> requested_limits(const std::vector<std::string> &words)
{
	static const std::pair<std::string, std::string> options[] = {
		{"--tpcs", ""}, {"--gpcs", "gpc:"}, {"--half", "half:"}, {"--plan", "plan:"}, {"--task", "task:"}};
	std::set<std::string> limits;

	for (size_t i = 0; i < words.size() && words[i] != "--"; i++)
		for (const auto &[name, kind] : options) {
			if (words[i] == name || words[i] == name + '=') // equivalent for CLI11
				limits.insert(kind + (i + 1 < words.size() ? words[i + 1] : ""));
			else if (words[i].compare(0, name.size() + 1, name + '=') == 0)
				limits.insert(kind + words[i].substr(name.size() + 1));
		}
	return limits;
}

bool is_number(const std::string &text, unsigned &to)
{
	if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != text.npos)
		return false;
	to = static_cast<unsigned>(std::stoul(text));
	return true;
}

// The numbers of "0-3,7"; empty: it is not such a list, has a number beyond the last, or repeats one although once is set.
std::set<unsigned> parse_list(const std::string &text, unsigned below, bool once = false)
{
	std::set<unsigned> numbers;

	for (size_t at = 0, end; at <= text.size(); at = end + 1) {
		end = std::min(text.find(',', at), text.size());
		std::string piece = text.substr(at, end - at);
		size_t dash = piece.find('-');
		unsigned first = 0, last = 0;
		if (!is_number(piece.substr(0, dash), first) ||
		    !is_number(dash == piece.npos ? piece : piece.substr(dash + 1), last) || last < first ||
		    last >= below)
			return {};
		for (unsigned n = first; n <= last; n++)
			if (!numbers.insert(n).second && once)
				return {};
	}
	return numbers;
}

// The TPCs of a limit; empty: it is not valid.
std::set<unsigned> tpcs_of(const std::string &limit)
{
	std::set<unsigned> tpcs;

	if (limit == "all")
		return parse_list("0-11", TPCS);
	if (limit == "half:a" || limit == "half:b") // 7 and 5 TPCs: GPCs 0 and 1, and 2
		return parse_list(limit == "half:a" ? "0-6" : "7-11", TPCS);
	if (limit.compare(0, 4, "gpc:") == 0) {
		static const char *const gpcs[] = {"0-3", "4-6", "7-11"};
		for (unsigned gpc : parse_list(limit.substr(4), 3, true))
			tpcs.merge(parse_list(gpcs[gpc], TPCS));
		return tpcs;
	}
	if (limit.compare(0, 2, "0x") == 0) {
		if (limit.size() == 2 || limit.size() > 18 ||
		    limit.find_first_not_of("0123456789abcdefABCDEF", 2) != limit.npos)
			return {};
		for (unsigned long long bits = std::stoull(limit, nullptr, 16), n = 0; bits; bits >>= 1, n++) {
			if (bits & 1)
				tpcs.insert(static_cast<unsigned>(n));
		}
		return tpcs.empty() || *tpcs.rbegin() >= TPCS ? std::set<unsigned>() : tpcs;
	}
	return parse_list(limit, TPCS);
}

// As verify_limit() does on a GPU whose masks pass the probe. Empty: refused.
std::set<unsigned> enabled_tpcs(const gpulens::Layout &layout, const std::string &limit)
{
	std::set<unsigned> tpcs;

	try {
		gpulens::LaunchBits bits = layout.launch_mask(layout.parse_mask(limit));
		for (unsigned n = 0; n < 128; n++)
			if (!(bits[n / 64] >> n % 64 & 1))
				tpcs.insert(n);
		EXPECT_FALSE(tpcs.empty()) << limit;
	} catch (const gpulens::Error &) {
		return {};
	}
	return tpcs;
}

gpulens::Layout small_gpu()
{
	gpulens::Layout layout = gpulens::layout_of({std::begin(TPCS_OF_GPC), std::end(TPCS_OF_GPC)});

	layout.launch_bits.resize(TPCS);
	std::iota(layout.launch_bits.begin(), layout.launch_bits.end(), 0);
	return layout;
}

TEST(Limit, NoProgramIsStartedWithoutItsRequestedLimit)
{
	const gpulens::Layout gpu = small_gpu();
	const PlanFile plan;
	Words words(20, plan.name());
	const std::set<std::string> planned = {"plan:" + plan.name(), "task:camera"};
	CommandLine parsed;
	bool begun = false;
	std::optional<std::string> given;
	unsigned with = 0, without = 0, by_plan = 0;
	Program program = gpulens_program();
	auto start = [&](const Options &, const std::optional<std::string> &limit, RunOptions &) {
		begun = true;
		given = limit;
		return 0;
	};
	auto run = std::find_if(program.commands.begin(), program.commands.end(),
				[](const Command &c) { return c.name == std::string("run"); });

	ASSERT_NE(run, program.commands.end());
	run->add = [&start](CLI::App &parser, CommandLine &line) { add_run(parser, line, start); };
	std::unique_ptr<CLI::App> app = build_cli(program, parsed);
	for (unsigned i = 0; i < LINES; i++) {
		std::vector<std::string> line = words.line();
		begun = false;
		parsed.options = {}; // CLI11 keeps what an earlier line set, such as --json
		try {
			app->parse(std::vector<std::string>(line.rbegin(), line.rend()));
		} catch (const CLI::ParseError &) {
			ASSERT_FALSE(begun) << fmt::format("{}", fmt::join(line, "|"));
			continue;
		} catch (const Error &) { // of the plan
			ASSERT_FALSE(begun) << fmt::format("{}", fmt::join(line, "|"));
			continue;
		}
		if (!begun)
			continue;
		std::set<std::string> limits = requested_limits(line);
		ASSERT_EQ(given.has_value(), !limits.empty()) << fmt::format("{}", fmt::join(line, "|"));
		if (!given) {
			without++;
			continue;
		}
		if (limits == planned) {
			ASSERT_EQ(*given, "3,5,6") << fmt::format("{}", fmt::join(line, "|"));
			by_plan++;
			continue;
		}
		std::set<unsigned> tpcs = enabled_tpcs(gpu, *given);
		ASSERT_EQ(tpcs, tpcs_of(*given)) << *given;
		if (tpcs.empty())
			continue; // refused when it is parsed
		with++;
		ASSERT_EQ(limits, std::set<std::string>{*given}) << fmt::format("{}", fmt::join(line, "|"));
	}
	EXPECT_GT(with, LINES / 50);
	EXPECT_GT(without, LINES / 500);
	EXPECT_GT(by_plan, LINES / 100);
}

// "1:2:3:UUID" with 8, 16 and 16 digits.
std::string widen_mask(const std::string &text)
{
	const size_t widths[] = {8, 16, 16, 8};
	std::string wide;
	size_t at = 0;

	for (size_t width : widths) {
		size_t end = text.find(':', at);
		wide += std::string(width - std::min(width, end - at), '0') + text.substr(at, end - at) + ':';
		at = end + 1;
	}
	return wide + text.substr(at);
}

// The mask that the library finds in its environment.
TEST(Limit, OnlyMasksInTheFormOfGpulensRunAreAccepted)
{
	Words words(21);
	static const char letters[] = "0123456789abcdefg:x+- ABF";
	const std::string good = "40:fffffffffffffffe:ffffffffffffffff:2:00112233445566778899aabbccddeeff";
	environment::VerifiedMask mask{};
	unsigned taken = 0;

	ASSERT_TRUE(environment::parse_launch_mask(good, mask));
	EXPECT_EQ(mask.format, 0x40U);
	EXPECT_EQ(mask.mask, (gpulens::LaunchMask{{0xfffffffffffffffe, 0xffffffffffffffff}, 2}));
	EXPECT_EQ(mask.gpu[1], 0x11);
	EXPECT_EQ(environment::format_launch_mask({0x40,
						   {{0xfedcba9876543210, 0x1}, 18},
						   {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x10, 0x32, 0x54,
						    0x76, 0x98, 0xba, 0xdc, 0x0e}}),
		  "40:fedcba9876543210:1:12:0123456789abcdef1032547698badc0e");
	for (unsigned i = 0; i < LINES; i++) {
		std::string text = good;
		for (unsigned n = words.below(4); n; n--) {
			size_t at = words.below(static_cast<unsigned>(text.size()));
			switch (words.below(3)) {
			case 0: text[at] = letters[words.below(sizeof(letters) - 1)]; break;
			case 1: text.erase(at, 1 + words.below(3)); break;
			default: text.insert(at, 1, letters[words.below(sizeof(letters) - 1)]);
			}
		}
		bool ok = environment::parse_launch_mask(text, mask);
		taken += ok;
		if (!ok)
			continue;
		// Written again it is the same text, except for leading zeros.
		ASSERT_EQ(fmt::format("{:08x}:{:016x}:{:016x}:{:08x}:{:02x}", mask.format, mask.mask.bits[0],
				      mask.mask.bits[1], mask.mask.cluster, fmt::join(mask.gpu, "")),
			  widen_mask(text));
		ASSERT_NE(mask.mask.bits[0] & mask.mask.bits[1], ~uint64_t{0}) << text;
		ASSERT_NE(mask.mask.cluster, 0U) << text;
	}
	EXPECT_GT(taken, LINES / 10);
}

} // namespace
