// SPDX-License-Identifier: GPL-2.0
// What a partition of TPCs does not separate, for the output of run, partitions and plan.
#pragma once
#include "lib/model/model.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

// Returns whether a process uses MPS, by what NVIDIA's driver reports; nothing: it reports no processes.
std::optional<bool> mps_runs(const std::optional<std::vector<Process>> &processes);

// Returns the notes, a sentence each: processes take turns, and L2 cache and memory are shared. mps: as mps_runs(). under_mps: the
// program uses it.
std::vector<std::string> partition_notes(std::optional<bool> mps, bool under_mps = false);
std::string turns_note(std::optional<bool> mps); // the first of these where the program does not use MPS
std::string memory_note();                       // the second

} // namespace tool
