// SPDX-License-Identifier: GPL-2.0
// Logs of blocks with every report that is made of them, and scenarios, which are written and read again: any text.
// Seen failing with 1e400, whose exception was not caught.
#include "lab/blocks/check.hpp"
#include "gpulens/blocks/log.hpp"
#include "lab/blocks/summary.hpp"
#include "lib/base/errors.hpp"
#include "room.hpp"

using namespace tool::blocks;

namespace {

void check_log(const std::string &text)
{
	Log l = parse_logs({{"f", text}});

	FUZZ_CHECK(!l.kernels.empty());
	FUZZ_CHECK(!verdict_text(l, check(l, DEFAULT_TOLERANCE_NS)).empty());
	FUZZ_CHECK(!verdict_json(check(l, 0)).empty());
	FUZZ_CHECK(!log_json(l).empty());
}

void check_scenario(const std::string &text)
{
	Scenario s = parse_scenario(text, "f");
	std::string again = scenario_json(s).dump();

	FUZZ_CHECK(scenario_json(parse_scenario(again, "f")).dump() == again);
	FUZZ_CHECK(s.launches().size() == s.kernels());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
	try {
		data[0] & 1 ? check_log(text) : check_scenario(text);
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Input && std::string(e.what()).starts_with("f: "));
	}
	return 0;
}
