// SPDX-License-Identifier: GPL-2.0
// The plan that gpulens run --plan limits a program by, and that libgpulens-partition carries out: any text. Seen failing
// where a task's partition may be one that is not there.
#include "lib/turns/plan_file.hpp"
#include "lib/base/errors.hpp"
#include "room.hpp"

#include <algorithm>
#include <functional>

namespace {

void check_carried_out(const std::string &text, bool placed)
{
	tool::plan::PlanFile plan = tool::plan::read_plan(text, "f", placed);

	FUZZ_CHECK(plan.partitions.size() == plan.rules.queues);
	for (const tool::turns::TaskRules &task : plan.rules.tasks)
		FUZZ_CHECK(task.queue < plan.rules.queues);
	FUZZ_CHECK(plan.turns_name().find('/') == std::string::npos);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	using tool::Error;
	for (bool placed : {false, true})
		try {
			check_carried_out({reinterpret_cast<const char *>(data), size}, placed);
		} catch (const Error &e) {
			FUZZ_CHECK(e.code == Error::Input);
			FUZZ_CHECK(std::string(e.what()).starts_with("f: "));
		}
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
