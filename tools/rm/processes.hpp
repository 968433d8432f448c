// SPDX-License-Identifier: GPL-2.0
// Which processes use a GPU, and which of them has which channel, as far as NVIDIA's driver lets one know.
#pragma once
#include "model.hpp"
#include "rm/client.hpp"
#include "run.hpp"

#include <array>
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
// What gpulens run has written of a process that it started; nothing of others. As root this reads a file that the process
// names: only a regular one of the same user's.
std::vector<RunTsg> tsgs_of(u32 pid);

// A channel is its process' who was on the graphics engine when the channel was resident there. The driver tells the
// latter at any time and the former five times a second, of the last ten seconds, by a clock that wanders against this
// one's: on H200s it was between 0.25 ms early and 0.5 ms late. So of the offsets within a millisecond, which is less than
// half a turn, the one is taken with which the two agree best.
class Owners {
public:
	// ns of CLOCK_MONOTONIC, ascending: what was resident then; nothing: none, or not told.
	void resident(u64 time_ns, std::optional<u32> channel);
	// The driver's samples of processes, in any order, also some that were given before. ns of CLOCK_MONOTONIC.
	void active(std::vector<std::pair<u64, u32>> samples);
	// By channel, of those of which two samples or more speak, and four in five of them of the same process. From the
	// last 20 s.
	std::map<u32, u32> pids() const;

private:
	static constexpr size_t OFFSETS = 17; // from -1 to 1 ms, each 0.125 ms
	struct Note {
		u32 pid;
		std::array<std::optional<u32>, OFFSETS> channels; // what was resident, by offset
	};
	using Votes = std::map<u32, std::map<u32, u32>>; // by channel and pid

	std::optional<u32> at(u64 time_ns) const;
	Votes votes(size_t offset) const;

	std::vector<std::pair<u64, std::optional<u32>>> resident_;
	std::vector<Note> notes_;
	u64 seen_ns_ = 0; // samples of processes up to here are noted
};

// Those of the driver's samples that name a process: ns of CLOCK_MONOTONIC, pid. Takes it 1.4 ms on an H200.
std::vector<std::pair<u64, u32>> active_processes(Client &client, const Subdevice &of);

} // namespace tool::rm
