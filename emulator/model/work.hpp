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

// What stopped a channel: an address that no page maps, and who used it.
struct WorkFault {
	u64 va = 0;
	bool write = false;
	bool host = false; // Host itself; otherwise the engine
};

class Work {
public:
	Work(const Profile &profile, Memories &mem) : profile_(profile), mem_(mem) {}

	bool enabled = false; // otherwise channels are busy as a scenario says

	void reset() { channels_.clear(); }
	// The channel has another instance block: it begins anew.
	void forget(u32 chid) { channels_.erase(chid); }
	// Whether the channel could go on: entries that were not fetched, or the rest of one, and no semaphore to wait for.
	bool has_work(u32 chid, Phys inst);
	bool waits_for_semaphore(u32 chid) const;

	struct Step {
		u64 ns = 0;             // that it takes
		bool interrupt = false; // it asked for a non-stalling interrupt
		std::optional<WorkFault> fault = std::nullopt;
	};
	// Does the next piece of the channel's work: fetches an entry, or executes one method or one copy.
	Step run(u32 chid, Phys inst, u64 now);

	struct Counts {
		u64 entries = 0, methods = 0, copied_bytes = 0, releases = 0, acquires = 0, faults = 0;
	};
	const Counts &counts() const { return counts_; }
	// Methods that no unit here executes, by class (0: Host's own) and method: how often.
	const std::map<std::pair<u32, u32>, u64> &ignored() const { return ignored_; }

private:
	struct State {
		Phys userd;
		u64 gp_base = 0;
		u32 gp_entries = 1, gp_get = 0;
		u64 pb_get = 0, pb_end = 0; // virtual addresses of what is left of the segment
		u32 method = 0, subchannel = 0, left = 0;
		bool increments = false, once = false; // after each word; after the first only
		u32 semaphore[4] = {};  // SEMAPHOREA to D, or SEM_ADDR_HI, SEM_ADDR_LO, payload and operation
		bool acquiring = false; // the operation waits for its value
		u32 classes[8] = {};    // SET_OBJECT by subchannel
		CopyEngine copy;
	};
	State *find(u32 chid, Phys inst);
	bool fetch_entry(State &s, Phys inst, const VirtualMemory &space);
	Step next(State &s, Phys inst, u64 now);
	Step execute(State &s, u32 data, const VirtualMemory &space, u64 now);
	Step host_method(State &s, u32 data, const VirtualMemory &space, u64 now);
	Step semaphore(State &s, const VirtualMemory &space, u64 now);
	static bool acquired(const State &s, u32 value);
	bool acquire_holds(const State &s, const VirtualMemory &space) const;
	void save(const State &s, Phys inst);

	const Profile &profile_;
	Memories &mem_;
	std::unordered_map<u32, State> channels_;
	Counts counts_;
	std::map<std::pair<u32, u32>, u64> ignored_;
};

} // namespace emu
