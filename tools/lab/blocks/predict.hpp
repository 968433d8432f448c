// SPDX-License-Identifier: GPL-2.0
// Simulates a scenario by the rules A to D of Otterness (section 3.4.2), by R2 and R4 of RTAS'24, and by what RTAS'23 says of
// masks, priorities and task slots (sections IV-A, V and VI-C), by N1 and N2 of RTSS'17 on the NULL stream, and by its C1 to
// C4 on copies. Launching, dispatching, detecting the end of a kernel and
// switching between processes take no time.
//
// Decisions where no source has a rule:
//	SM of a block	the SM of the kernel's mask with the most free threads, of several the one with the lowest number, which
//			reproduces Otterness' figures 3.15 and 3.16
//	overlap		a kernel waits for kernels ahead in the queue whose masks have a TPC of its own; RTAS'23 shows that
//			disjoint masks do not wait (Fig. 3), and that a mask within another one waits (Fig. 11)
//	channels	R2 defines that streams wait for channels, but not their order (its Corollary 2: not first come, first
//			served). Here it is first come, first served, but for streams that the caller puts first
//	copies		need no channel, and take a time that is proportional to their bytes; the queue of a copy engine is
//			first come, first served, whatever the priority
//	processes	take turns of 2 ms (RTAS'24, Fig. 6) in a cycle, and give up their turn when they have no work. Time runs
//			on for a block that spins while its process waits
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// Returns the log of the simulation. Throws Error (Input) for a kernel whose run time is not known in advance (all but
// spin), for shared memory, which the rules do not cover, for blocks that do not fit on an SM, and for copies of several
// processes: no source says how those share a copy engine.
// first: streams that get a channel before all others that wait, in this order, counted from 1. Throws Error (Input) for one that
// the scenario does not have.
Log predict(const Scenario &scenario, const Machine &machine, const std::vector<u32> &first = {});

} // namespace tool::blocks
