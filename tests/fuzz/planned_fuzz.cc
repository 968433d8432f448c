// SPDX-License-Identifier: GPL-2.0
// The plan that gpulens run --plan limits a program by: any text. Seen failing where a task's partition may be one that is
// not there.
#include "lib/turns/plan_file.hpp"
#include "lib/base/errors.hpp"
#include "room.hpp"

#include <algorithm>
#include <functional>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	using tool::Error;
	try {
		tool::plan::PlannedTask found =
			tool::plan::find_planned_task({reinterpret_cast<const char *>(data), size}, "f", "camera");
		FUZZ_CHECK(!found.tpcs.empty());
		FUZZ_CHECK(std::is_sorted(found.tpcs.begin(), found.tpcs.end(), std::less_equal<>()));
	} catch (const Error &e) {
		FUZZ_CHECK(e.code == Error::Input || e.code == Error::Absent);
		FUZZ_CHECK(std::string(e.what()).starts_with("f: "));
	}
	return 0;
}
