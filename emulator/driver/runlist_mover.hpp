// SPDX-License-Identifier: GPL-2.0
// Injected fault "torn": the driver moves a runlist while it is read. At every k-th read of the list in memory it
// submits the list with its first TSG last, in place or as a copy whose original it overwrites.
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
