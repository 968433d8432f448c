// SPDX-License-Identifier: GPL-2.0
// The part of the C interface by which threads take turns: plans that are carried out, and locks with k slots.
#include "gpulens-partition.h"
#include "lib/turns/slots.hpp"
#include "lib/turns/turns.hpp"
#include "partition/c_errors.hpp"
#include "partition/c_layout.hpp"
#include "partition/plan.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using gpulens::catch_errors;
using gpulens::Error;
using gpulens::require_pointers;
using tool::turns::TurnFile;

struct gpulens_plan : gpulens::CarriedPlan {
	using CarriedPlan::CarriedPlan;
};

struct gpulens_slots {
	std::unique_ptr<TurnFile> file;
};

namespace {

void write_counts(const tool::turns::Counts &from, gpulens_counts *to, size_t size)
{
	gpulens_counts counts{.jobs = from.jobs,
			      .waits = from.waits,
			      .overruns = from.overruns,
			      .misses = from.misses,
			      .deaths = from.deaths,
			      .longest_wait_ns = from.longest_wait,
			      .longest_run_ns = from.longest_run};

	memset(to, 0, size);
	memcpy(to, &counts, std::min(size, sizeof(counts)));
}

} // namespace

int gpulens_plan_open(const char *file, unsigned int way, struct gpulens_plan **plan)
{
	return catch_errors([&] {
		require_pointers(file, plan);
		std::optional<gpulens::Method> method;
		if (way != GPULENS_TURNS_ONLY)
			method = gpulens::method_of(way);
		*plan = std::make_unique<gpulens_plan>(file, method).release();
	});
}

int gpulens_plan_task(struct gpulens_plan *plan, const char *name, unsigned int *task)
{
	return catch_errors([&] {
		require_pointers(plan, name, task);
		*task = plan->open_task(name);
	});
}

int gpulens_plan_counts(const struct gpulens_plan *plan, unsigned int task, struct gpulens_counts *counts, size_t size)
{
	return catch_errors([&] {
		require_pointers(plan, counts);
		write_counts(plan->counts(task), counts, size);
	});
}

void gpulens_plan_close(struct gpulens_plan *plan)
{
	catch_errors([&] { delete plan; });
}

int gpulens_job_begin(struct gpulens_plan *plan, unsigned int task, uint64_t release, void **stream)
{
	return catch_errors([&] {
		require_pointers(plan, stream);
		*stream = plan->begin(task, release);
	});
}

int gpulens_job_yield(struct gpulens_plan *plan)
{
	return catch_errors([&] {
		require_pointers(plan);
		plan->yield();
	});
}

int gpulens_job_end(struct gpulens_plan *plan)
{
	return catch_errors([&] {
		require_pointers(plan);
		plan->end();
	});
}

int gpulens_slot_open(const char *name, unsigned int k, struct gpulens_slots **slots)
{
	return catch_errors([&] {
		require_pointers(name, slots);
		auto opened = std::make_unique<gpulens_slots>();
		opened->file = tool::turns::open_slots(name, k);
		*slots = opened.release();
	});
}

int gpulens_slot_acquire(struct gpulens_slots *slots, unsigned int *slot)
{
	return catch_errors([&] {
		require_pointers(slots, slot);
		*slot = static_cast<unsigned>(tool::turns::begin_turn(*slots->file, 0, {}));
	});
}

int gpulens_slot_release(struct gpulens_slots *slots, unsigned int slot)
{
	return catch_errors([&] {
		require_pointers(slots);
		if (tool::turns::held_slot(*slots->file) != slot)
			throw Error(Error::NotOwner, fmt::format("this thread does not hold slot {}", slot));
		tool::turns::end_turn(*slots->file);
	});
}

int gpulens_slot_set(struct gpulens_slots *slots, unsigned int k)
{
	return catch_errors([&] {
		require_pointers(slots);
		tool::turns::check_slots(k);
		tool::turns::set_slots(*slots->file, 0, k);
	});
}

int gpulens_slot_counts(const struct gpulens_slots *slots, struct gpulens_counts *counts, size_t size)
{
	return catch_errors([&] {
		require_pointers(slots, counts);
		write_counts(slots->file->task(0).counts, counts, size);
	});
}

void gpulens_slot_close(struct gpulens_slots *slots)
{
	catch_errors([&] { delete slots; });
}
