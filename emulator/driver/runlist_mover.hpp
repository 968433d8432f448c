// SPDX-License-Identifier: GPL-2.0
// Injected fault "torn": a driver that moves a runlist while somebody reads it. At every k-th read that falls on the
// list in memory it submits the list with its first TSG last: as a copy, over whose original it scribbles, or in place.
#pragma once
#include "driver/loader.hpp"

namespace emu {

class RunlistMover {
public:
	RunlistMover(Gpu &gpu, DriverPart &driver) : gpu_(gpu), driver_(driver) {}

	void start(int runlist, u64 every, bool in_place) { plan_ = {runlist, every, in_place}; }
	void stop() { plan_ = {}; }
	void forget_buffer() { plan_.spare = 0; } // after the driver's heap starts anew
	u64 times() const { return plan_.times; }

	// For each read of memory, before it looks there. bar: 0 for PRAMIN, 1, 2.
	void check_read(int bar, u64 offset);

private:
	void move_list(Runlist &rl);

	Gpu &gpu_;
	DriverPart &driver_;
	struct Plan {
		int runlist = -1;
		u64 every = 0; // 0: never
		bool in_place = false;
		u64 seen = 0, times = 0;
		u64 spare = 0; // address of the other buffer
	} plan_;
};

} // namespace emu
