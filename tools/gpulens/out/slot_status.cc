// SPDX-License-Identifier: GPL-2.0
// Whether a key is a priority, a deadline or none follows from its value alone. The states have other names in metrics than
// in the table.
#include "gpulens/out/slot_status.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/format.hpp"
#include "lib/base/monotonic.hpp"
#include "lib/turns/slots.hpp"

#include <fmt/format.h>
#include <vector>

namespace tool {

using turns::LockState;
using turns::Member;

namespace {

const char *name_slot_state(const Member &m)
{
	return m.running ? "has a slot" : m.lent ? "taken back" : "waits";
}

std::string describe_key(u64 key, u64 now)
{
	if (key == turns::NEVER)
		return "-";
	if (key < turns::PRIORITIES)
		return fmt::format("priority {}", key);
	return key > now ? "deadline in " + format_duration(key - now) : "deadline is over";
}

} // namespace

std::string slots_text()
{
	Table table({"<Slot", "Slots", "Process", "<State", "<Order", "Taken back"});
	u64 now = now_ns();

	for (const LockState &lock : turns::list_locks())
		for (const Member &m : lock.members)
			table.add({lock.name, std::to_string(lock.slots), std::to_string(m.process), name_slot_state(m),
				   describe_key(m.key, now), std::to_string(lock.taken_back)});
	return table.empty() ? "" : table.str({});
}

void add_slots(Metrics &metrics)
{
	std::vector<LockState> locks = turns::list_locks();

	if (locks.empty())
		return;
	Family &slots = metrics.gauge("gpulens_slot_slots", "Slots of a lock.");
	for (const LockState &lock : locks)
		slots.add({{"slot", lock.name}}, lock.slots);
	Family &state =
		metrics.gauge("gpulens_slot_process",
			      "A process that has a slot (holds), waits, or whose slot was taken back (lent); 1.");
	for (const LockState &lock : locks)
		for (const Member &m : lock.members)
			state.add({{"slot", lock.name},
				   {"pid", std::to_string(m.process)},
				   {"thread", std::to_string(m.thread)},
				   {"state", m.running ? "holds"
					     : m.lent  ? "lent"
						       : "waits"}},
				  u64{1});
	Family &taken = metrics.counter("gpulens_slot_taken_back_total",
					"Times that a slot was taken back for a program that comes first.");
	for (const LockState &lock : locks)
		taken.add({{"slot", lock.name}}, lock.taken_back);
}

} // namespace tool
