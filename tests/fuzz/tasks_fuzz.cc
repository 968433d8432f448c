// SPDX-License-Identifier: GPL-2.0
// The file of tasks that gpulens plan reads: any text.
#include "gpulens/plan/task_file.hpp"
#include "lib/base/errors.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try {
		tool::plan::TaskFile f = tool::plan::parse_tasks({reinterpret_cast<const char *>(data), size}, "f", 66);
		FUZZ_CHECK(!f.tasks.empty());
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Input && std::string(e.what()).starts_with("f: "));
	}
	return 0;
}
