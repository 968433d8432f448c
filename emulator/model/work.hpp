// SPDX-License-Identifier: GPL-2.0
// The work of channels (--execute): GPFIFO entries found through USERD, pushbuffers, Host's methods, and copies. Fields
// and what is approximated: emulator/README.md, "Work". Sources: DOC classes/host/cl{c06f,c36f,c46f}.h (entries,
// headers, methods), volta/gv100/dev_ram.ref.txt (RAMFC, USERD), dev_pbdma.ref.txt (USERD, GP_BASE).
#pragma once
#include "model/copy_engine.hpp"
#include "model/profile.hpp"

#include <map>
#include <unordered_map>

namespace emu {

// What stopped a channel, and who accessed it.
struct WorkFault : MemoryFault {
	bool host = false; // Host itself; otherwise the engine
};

class Work {
public:
	Work(const Profile &profile, Memories &mem) : profile_(profile), mem_(mem) {}

	bool enabled = false; // otherwise channels are busy as a scenario says

	// Channels are numbered by Host::work_number().
	void reset() { channels_.clear(), userds_.clear(); }
	// The channel has another instance block: it begins anew.
	void forget(u32 chid) { channels_.erase(chid); }
	// The same, with a USERD that a runlist names; otherwise RAMFC does.
	void begin(u32 chid, Phys userd) { forget(chid), userds_[chid] = userd; }
	// Whether the channel could go on: entries that were not fetched, or the rest of one, and no semaphore to wait for.
	bool has_work(u32 chid, Phys inst);
	bool waits_for_semaphore(u32 chid) const;

	// What a channel gives up with YIELD: nothing, its turn within the TSG, or the time slice of the TSG.
	enum class Yield { None, Channel, Timeslice };
	struct Step {
		u64 ns = 0;             // that it takes
		u64 cost = 1;           // for the emulator: a method, 256 bytes or a line of a copy are 1
		bool interrupt = false; // it asked for a non-stalling interrupt
		Yield yield = Yield::None;
		std::optional<WorkFault> fault = std::nullopt;
	};
	// Does the next piece of the channel's work: fetches an entry, executes one method or copies a piece.
	Step run(u32 chid, Phys inst, u64 now);

	struct Counts {
		u64 entries = 0, methods = 0, copied_bytes = 0, releases = 0, acquires = 0, faults = 0;
		u64 ignored_unlisted = 0; // methods that are ignored and for which the list had no place
	};
	const Counts &counts() const { return counts_; }
	// Methods that are not executed, or not all of them, by class (0: Host's own) and method: how often. The first
	// IGNORED_LIMIT of them.
	static constexpr size_t IGNORED_LIMIT = 1024;
	const std::map<std::pair<u32, u32>, u64> &ignored() const { return ignored_; }

private:
	struct State {
		Phys userd;
		u64 gp_base = 0;
		u32 gp_entries = 1, gp_get = 0;
		u64 pb_get = 0, pb_end = 0; // virtual addresses of what is left of the segment
		bool subroutine = false;    // the segment is not top-level
		u32 method = 0, subchannel = 0, left = 0;
		bool increments = false, once = false;       // after each word; after the first only
		u64 semaphore = 0, payload = 0;              // SEMAPHOREA to C, or SEM_ADDR_HI to SEM_PAYLOAD_HI
		std::optional<SemaphoreOperation> acquiring; // the operation that waits for its value
		u32 classes[8] = {};                         // SET_OBJECT by subchannel
		CopyEngine copy;
	};
	State *find(u32 chid, Phys inst);
	bool fetch_entry(State &s, const VirtualMemory &space);
	Step next(State &s, Phys inst, u64 now);
	Step execute(State &s, Phys inst, u32 data, const VirtualMemory &space, u64 now);
	Step host_method(State &s, Phys inst, u32 data, const VirtualMemory &space, u64 now);
	Step semaphore(State &s, std::optional<SemaphoreOperation> op, const VirtualMemory &space, u64 now);
	Step acquire(State &s, SemaphoreOperation op, const VirtualMemory &space);
	Step count_copy(const CopyEngine::Result &r);
	void note_ignored(u32 number, u32 method);
	void save(const State &s, Phys inst);

	const Profile &profile_;
	Memories &mem_;
	std::unordered_map<u32, State> channels_;
	std::unordered_map<u32, Phys> userds_; // that runlists named
	Counts counts_;
	std::map<std::pair<u32, u32>, u64> ignored_;
};

} // namespace emu
