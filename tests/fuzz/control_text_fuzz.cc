// SPDX-License-Identifier: GPL-2.0
// Any text written to a control file. What is accepted must be what strtoull() makes of it.
#include "parse.h"
#include "stream.hpp"

#include <string>

namespace {

u64 by_libc(const std::string &s)
{
	char *end;
	u64 v = std::strtoull(s.c_str(), &end, 0);

	FUZZ_CHECK(!s.empty() && *end == 0);
	return v;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	// A copy of the very size, so that a byte too far is seen.
	std::unique_ptr<char[]> text(new char[size]);
	lens_ref ref{};

	if (size)
		std::memcpy(text.get(), data, size);
	int err = lens_parse_ref(text.get(), size, &ref);
	FUZZ_CHECK(err == 0 || err == -EINVAL || err == -ERANGE);
	if (err == -EINVAL)
		return 0;
	std::string s(text.get(), size);
	if (s.back() == '\n')
		s.pop_back();
	size_t colon = s.find(':');
	u64 id = by_libc(colon == s.npos ? s : s.substr(colon + 1)), runlist = 0;
	if (colon != s.npos)
		runlist = by_libc(s.substr(0, colon));
	if (err == -ERANGE) {
		FUZZ_CHECK(id > 0xffffffff || runlist > 0x7fffffff);
		return 0;
	}
	FUZZ_CHECK(ref.id == id);
	FUZZ_CHECK(ref.runlist == (colon == s.npos ? LENS_NONE : static_cast<int>(runlist)));
	return 0;
}
