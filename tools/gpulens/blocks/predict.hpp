// SPDX-License-Identifier: GPL-2.0
// Simulates a scenario by the rules A to D of Otterness (section 3.4.2), and by R2 of RTAS'24 if there are more streams
// than channels. Launching, dispatching and detecting the end of a kernel take no time.
//
// The rules do not define the SM of a block. Here it is the SM with the most free threads, of several the one with the
// lowest number, which reproduces figures 3.15 and 3.16. R2 defines that streams wait for channels, but not their order
// (its Corollary 2: not first come, first served). Here it is first come, first served.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// Returns the log of the simulation. Throws Error (Input) for a kernel whose run time is not known in advance (all but
// spin), for priorities and shared memory, which the rules do not cover, and for blocks that do not fit on an SM.
Log predict(const Scenario &scenario, const Machine &machine);

} // namespace tool::blocks
