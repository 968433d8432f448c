// SPDX-License-Identifier: GPL-2.0
// Part of check(): the rules C1 to C4 of RTSS'17 on copies between the CPU's memory and the GPU's.
#pragma once
#include "lab/blocks/check.hpp"

namespace tool::blocks {

// For the log of one process:
//	C1	a copy starts when it has been called and all that is ahead of it in its stream has ended
//	C2	copies of one engine end in the order in which they came to the heads of their streams
//	C3	an engine has one copy at a time
//	C4	a kernel starts when the copy ahead of it in its stream has ended
// An engine copies in both directions if the GPU has one (RTSS'17), else in one (CUDA Runtime API, asyncEngineCount). C2 and C3
// need the number of engines, and C3 a simulated log: an event tells when all ahead of a copy has ended, not when its engine
// begins.
std::vector<Violation> check_copies(const Log &log, s64 tolerance);
// Returns what check_copies() cannot check of a log, and why.
std::vector<std::string> copy_notes(const Log &log);

} // namespace tool::blocks
