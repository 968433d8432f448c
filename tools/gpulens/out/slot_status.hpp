// SPDX-License-Identifier: GPL-2.0
// The locks with slots of this user (gpulens run --slot, gpulens_slot_open()): who has a slot, who waits, and how often a slot
// was taken back, from the files by which processes take turns; for gpulens top and gpulens export.
#pragma once
#include "gpulens/out/metrics.hpp"

#include <string>

namespace tool {

// Returns a table; empty: no process has or wants a slot.
std::string slots_text();
// Adds the locks that a process has or wants a slot of.
void add_slots(Metrics &metrics);

} // namespace tool
