// SPDX-License-Identifier: GPL-2.0
// The processes that use a GPU, and which process owns which channel, as far as NVIDIA's driver reports it.
#pragma once
#include "lib/model/model.hpp"
#include "lib/rm/client.hpp"
#include "lib/rm/run_tsg.hpp"
#include "lib/rm/util_clock.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool::rm {

// Called for a control, by its name, that returned a status other than NV_OK.
using OnRefusal = std::function<void(const char *control, u32 status)>;

// A class of objects of the driver, by NVIDIA's number, and what processes hold such objects for.
struct UsedClass {
	u32 number;
	const char *use; // "compute", "copy", "MPS" or "debugger"
};

// Returns the classes of a GPU, which do not change while the driver is loaded.
std::vector<UsedClass> list_used_classes(Client &client, const Subdevice &gpu, const OnRefusal &on_refusal);
constexpr u32 MPS_COMPUTE = 0x900e; // class/cl900e.h
// Returns the pids of the processes that hold an object of the class; none if that is refused.
std::vector<u32> list_users(Client &client, const Subdevice &gpu, u32 cls, const OnRefusal &on_refusal);
// Returns the processes that hold an object of these classes, by pid: a query for each class.
std::vector<Process> list_processes(Client &client, const Subdevice &gpu, const std::vector<UsedClass> &classes,
				    const OnRefusal &on_refusal);
// Both, without what is refused.
std::vector<Process> list_processes(Client &client, const Subdevice &gpu);
// Returns the TSGs of a process that gpulens run started, from the file that the process names; empty for others. The
// content is the process' own claim. Only a regular file of the same user is read.
std::vector<RunTsg> claimed_tsgs(u32 pid);

// A utilisation sample of the driver: the process that was active on the graphics engine.
struct UtilSample {
	u64 time_ns = 0; // of the GPU's clock, see UtilClock
	u32 pid = 0;     // UtilSamples::NO_PID: none
};

// Returns the driver's utilisation samples, ascending: five a second, of the last 14 s; empty if refused. The call takes
// 1.2 to 2.6 ms on an H100.
std::vector<UtilSample> util_samples(Client &client, const Subdevice &gpu);

// Attributes a channel to the process that the utilisation samples report at the times at which the channel was resident
// on the graphics engine. The offset between both clocks is known to some milliseconds only, so that several offsets are
// tried, and those count with which the samples agree best.
class ChannelOwners {
public:
	// max_gap_ns: two adds of the same channel that are at most so far apart show that it was resident in between; at
	// least 1 ms.
	explicit ChannelOwners(u64 max_gap_ns = 0) : max_gap_ns_(std::max(max_gap_ns, MIN_GAP_NS)) {}

	// Adds the resident channel at a time of CLOCK_MONOTONIC, ns, ascending; nothing: none, or unknown.
	void add_resident(u64 time_ns, std::optional<u32> channel);
	// Adds utilisation samples, ascending; those that were added before are ignored.
	void add_samples(const std::vector<UtilSample> &samples);
	// Forgets the samples: those that follow are of another clock.
	void restart_samples() { samples_.clear(); }
	// Returns the pid by channel, from the last 20 s; empty until eight samples are at times of a known channel. A channel
	// has a pid if three samples or more report a process for it, four in five of them the same one, and every offset that
	// agrees nearly as well as the best one gives the same process.
	std::map<u32, u32> find_pids(UtilClock::Offset offset) const;
	// Returns whether a sample that was added since the last call is of another process than the channels that were
	// resident at any of the offsets. pid_of: 0: unknown, which contradicts nothing.
	bool contradict(UtilClock::Offset offset, const std::function<u32(u32 channel)> &pid_of);
	// Forgets when this channel was resident.
	void forget(u32 channel);

private:
	// Through the driver the resident channel is queried every 0.25 to 0.36 ms; between two equal answers closer than this
	// it did not change.
	static constexpr u64 MIN_GAP_NS = 1000000;

	// The samples by channel and pid, for one offset.
	struct Votes {
		std::map<u32, std::map<u32, u32>> by_channel;
		u32 agreeing = 0, all = 0; // agreeing: for the process that most samples of a channel report

		double agreement() const { return static_cast<double>(agreeing) / all; }
	};

	std::optional<u32> resident_at(int64_t time_ns) const;
	Votes count_votes(int64_t offset_ns) const;

	u64 max_gap_ns_, compared_ns_ = 0; // compared_ns_: of the last sample that contradict() compared
	std::deque<std::pair<u64, std::optional<u32>>> resident_;
	std::vector<UtilSample> samples_;
};

} // namespace tool::rm
