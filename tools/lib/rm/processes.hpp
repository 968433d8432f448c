// SPDX-License-Identifier: GPL-2.0
// Which processes use a GPU, and which of them has which channel, as far as NVIDIA's driver lets one know.
#pragma once
#include "lib/model/model.hpp"
#include "lib/rm/client.hpp"
#include "lib/rm/note_clock.hpp"
#include "lib/rm/run_tsg.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool::rm {

// A question, by its name, that was answered with a status other than NV_OK.
using Refused = std::function<void(const char *question, u32 status)>;

// Those that hold an object for compute, copies, MPS or debugging, by pid.
std::vector<Process> processes(Client &client, const Subdevice &of, const Refused &refused);
// /proc/PID/comm; empty: not told.
std::string process_name(u32 pid);
// What gpulens run has written of a process that it started; nothing of others. This is what the process says: it names the
// file, which is read if it is a regular one of the same user's, and can write anything there.
std::vector<RunTsg> tsgs_of(u32 pid);

// A note of the driver's: which process was on the graphics engine. Time: ns of the GPU's clock (NoteClock).
struct ActiveProcess {
	u64 time_ns = 0;
	u32 pid = 0; // UtilSamples::NO_PID: none
};

// What the driver has noted, ascending: five times a second, of the last 14 s. Takes it 1.2 to 2.6 ms on an H100. Empty:
// refused.
std::vector<ActiveProcess> active_processes(Client &client, const Subdevice &of);

// A channel is its process' who was on the graphics engine when the channel was resident there. The driver tells the
// latter at any time and notes the former by a clock that is known to some milliseconds; of the offsets that it may have,
// those count with which the two agree.
class Owners {
public:
	// ns of CLOCK_MONOTONIC, ascending: what was resident then; nothing: none, or not told.
	void resident(u64 time_ns, std::optional<u32> channel);
	// Ascending, also some that were given before.
	void active(const std::vector<ActiveProcess> &notes);
	// Nothing until eight notes are of a known channel. By channel, of those of which three notes or more speak, and four
	// in five of them of the same process: with the offset with which most notes agree, and of the same process with each
	// other one that is nearly as good. From the last 20 s.
	std::map<u32, u32> pids(NoteClock::Offset offset) const;

private:
	struct Votes {
		std::map<u32, std::map<u32, u32>> of; // by channel and pid
		u32 agree = 0, all = 0;

		double share() const { return static_cast<double>(agree) / all; } // that agrees
	};

	std::optional<u32> at(int64_t time_ns) const;
	Votes votes(int64_t offset_ns) const;

	std::deque<std::pair<u64, std::optional<u32>>> resident_;
	std::vector<ActiveProcess> notes_;
};

} // namespace tool::rm
