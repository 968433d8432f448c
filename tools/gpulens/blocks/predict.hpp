// SPDX-License-Identifier: GPL-2.0
// What the rules A to D say of a scenario (Otterness, section 3.4.2), and R2 of RTAS'24 where streams are more than
// channels: a simulation in which launching, dispatching and noticing the end take no time.
//
// Where a block goes is in none of the rules; here, to the SM with most threads free, the lowest number of those, which
// gives figures 3.15 and 3.16. R2 says that streams wait for channels and not in which order (its Corollary 2: not
// first come, first served); here it is first come, first served.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// Throws BadInput: what has no time that is known before, or is not in the rules (priorities, shared memory), or never
// fits.
Log predict(const Scenario &scenario, const Machine &machine);

} // namespace tool::blocks
