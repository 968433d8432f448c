// SPDX-License-Identifier: GPL-2.0
// Pairs the starts and ends of contexts. A start ends the turn before it, too.
#include "lib/rm/engine_turns.hpp"

#include "lib/base/monotonic.hpp"

#include <algorithm>

namespace tool::rm {

EngineTurns::EngineTurns(unsigned gpu)
	: gpu_(client_.open(find_attached(client_.gpus(), gpu))), switches_(client_, gpu_)
{
}

std::vector<EngineTurn> EngineTurns::read()
{
	std::vector<EngineTurn> turns;
	u64 now = now_ns(), until = 0;
	auto end_turn = [&](u64 end) {
		if (since_ns_ && since_ns_ < end)
			turns.push_back({pid_, since_ns_, end});
	};

	if (now < next_read_ns_)
		return turns;
	next_read_ns_ = now + ContextSwitches::EVERY_NS;
	for (const ContextSwitch &s : switches_.read(until)) {
		if (!s.lost)
			end_turn(s.time_ns);
		since_ns_ = s.starts ? s.time_ns : 0;
		pid_ = s.pid;
	}
	end_turn(until);
	if (since_ns_)
		since_ns_ = std::max(since_ns_, until);
	return turns;
}

} // namespace tool::rm
