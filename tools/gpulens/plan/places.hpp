// SPDX-License-Identifier: GPL-2.0
// What the partitions of a plan are made with: masks of TPCs, in one process or under MPS, green contexts, or MIG instances.
// gpulens changes no MIG settings, and prints the commands for them.
#pragma once
#include <string>
#include <vector>

namespace tool::plan {

struct Plan;

enum class Place { Masks, Green, Mig, Mps };
// Returns "masks", "green", "mig" or "mps".
const char *place_name(Place place);

// Returns who carries the plan out.
std::string carrier_text(const Plan &plan);
// Returns for whom the times of a plan that fits hold: a line.
std::string holds_text(const Plan &plan);
// Returns the commands of a shell by which the user does it.
std::vector<std::string> commands_of(const Plan &plan);
// Returns what the place does not give.
std::vector<std::string> notes_on_place(const Plan &plan);

} // namespace tool::plan
