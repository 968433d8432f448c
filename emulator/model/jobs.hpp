// SPDX-License-Identifier: GPL-2.0
// Jobs of a channel: work with a length, which arrives by time or by request. A channel is busy while it has any. At the
// end of each, the number of finished ones is released to a semaphore, a word in memory.
#pragma once
#include "model/memory.hpp"

#include <deque>

namespace emu {

struct Job {
	u64 arrived, length;
	u64 ended = 0;
};

struct ChannelJobs {
	static constexpr size_t REMEMBERED = 4096; // finished jobs

	Phys semaphore;
	u64 length = 0, period = 0; // of jobs that arrive by time; period 0: only one does
	u64 left = 0;               // of those, how many will arrive
	std::deque<Job> waiting, finished;
	u64 first_left = 0; // of the first one that waits
	u32 count = 0;      // finished

	void add_job(u64 now, u64 ns)
	{
		if (waiting.empty())
			first_left = ns;
		waiting.push_back({now, ns});
	}
	// The channel was on its engine for that long.
	void run_for(u64 ns) { first_left -= ns < first_left ? ns : first_left; }
	void end_first(u64 now)
	{
		waiting.front().ended = now;
		finished.push_back(waiting.front());
		waiting.pop_front();
		if (finished.size() > REMEMBERED)
			finished.pop_front();
		first_left = waiting.empty() ? 0 : waiting.front().length;
		count++;
	}
};

} // namespace emu
