// SPDX-License-Identifier: GPL-2.0
// Turns of processes on the graphics engine, by the driver's records of context switches.
#pragma once
#include "lib/rm/context_switches.hpp"

#include <vector>

namespace tool::rm {

struct EngineTurn {
	u32 pid;              // as in ContextSwitch
	u64 begin_ns, end_ns; // of CLOCK_MONOTONIC
};

class EngineTurns {
public:
	// gpu: as in find_attached(). Throws Error with the reason why there are none.
	explicit EngineTurns(unsigned gpu);

	// Returns the turns since the last call, in order and as far as they are known; one that goes on comes in pieces. Asks the
	// driver each ContextSwitches::EVERY_NS at most. Throws Error.
	std::vector<EngineTurn> read();

private:
	Client client_;
	Subdevice gpu_;
	ContextSwitches switches_;
	u64 next_read_ns_ = 0;
	u32 pid_ = 0;
	u64 since_ns_ = 0; // of the present turn; 0: there is none, or its begin was lost
};

} // namespace tool::rm
