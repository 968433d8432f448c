// SPDX-License-Identifier: GPL-2.0
// The policy of gpulens schedule and simulate: any text.
#include "lib/schedule/policy_file.hpp"
#include "lib/base/errors.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	using tool::Error;
	try {
		tool::schedule::PolicyFile policy =
			tool::schedule::parse_policy({reinterpret_cast<const char *>(data), size}, "f");
		FUZZ_CHECK(policy.plain_tasks().size() == policy.tasks.size());
		for (const tool::schedule::PolicyTask &t : policy.tasks)
			FUZZ_CHECK(!t.task.name.empty());
	} catch (const Error &e) {
		FUZZ_CHECK(e.code == Error::Input);
		FUZZ_CHECK(std::string(e.what()).starts_with("f: ") || std::string(e.what()).starts_with("f:"));
	}
	return 0;
}
