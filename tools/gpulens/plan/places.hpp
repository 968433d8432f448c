// SPDX-License-Identifier: GPL-2.0
// What the partitions of a plan are made with: masks of TPCs, green contexts, MIG instances, or MPS with percentages of
// threads. gpulens carries the first two out, and prints the commands for the others: it changes no MIG and MPS settings.
#pragma once
#include <string>
#include <vector>

namespace tool::plan {

struct Plan;

enum class Place { Masks, Green, Mig, Mps };
// Returns "masks", "green", "mig" or "mps".
const char *place_name(Place place);

// Returns the least whole percentage of threads that has so many of all TPCs. The limit is rounded down to what the
// hardware supports (NVIDIA, Multi-Process Service, "Execution Resource Provisioning").
unsigned percentage_of(unsigned tpcs, unsigned all);

// Returns who carries the plan out.
std::string carrier_text(const Plan &plan);
// Returns the commands of a shell by which the user does it.
std::vector<std::string> commands_of(const Plan &plan);
// Returns what the place does not give.
std::vector<std::string> notes_on_place(const Plan &plan);

} // namespace tool::plan
