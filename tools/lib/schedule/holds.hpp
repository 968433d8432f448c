// SPDX-License-Identifier: GPL-2.0
// Which channels a scheduler has disabled, in a table that two processes map: the coordinator, which holds and releases, and a
// watchdog, which releases what the coordinator no longer answers for. Either may be killed or stopped at any instruction.
//
// - A hold is in the table before its channel is disabled, and until after it is enabled again.
// - A hold is good until the lease ends, which the coordinator extends, and for MAX_HOLD_NS at most. After that, the watchdog
//   enables the channel, and again each time it looks: the coordinator may have been stopped just before it disables it.
// - Only the coordinator removes holds from the table while it lives; when it has ended, so have its writes, and the watchdog
//   enables everything in the table once more.
// - If both are killed at once, the module ends the holds: they belong to a file that the coordinator alone has open
//   (hold_channel in docs/proc.md). It also ends each after a second.
// Enabling an enabled channel changes nothing. Nothing that a program has queued is ever removed.
#pragma once
#include "gpulens/types.h"

#include <atomic>
#include <string>

namespace tool::schedule {

constexpr u64 MAX_HOLD_NS = 1000000000; // however often the lease is extended
constexpr u32 MAX_HOLDS = 4096;

// What holding needs of the machine.
class HoldPort {
public:
	HoldPort() = default;
	HoldPort(const HoldPort &) = delete;
	HoldPort &operator=(const HoldPort &) = delete;
	virtual ~HoldPort() = default;

	// Both return 0 or an errno. channel: of HoldTable. EALREADY: it was disabled before, not by a hold.
	virtual int disable_channel(u64 channel) = 0;
	virtual int enable_channel(u64 channel) = 0;
	virtual u64 now() = 0; // CLOCK_MONOTONIC, which both processes share
	// Called between two steps; tests end or stop the process there.
	virtual void pass_step() {}
};

struct HoldTable {
	static constexpr u64 MAGIC = 0x31304c4f484c5047; // "GPLHOL01"

	struct Entry {
		std::atomic<u64> channel; // runlist << 32 | id
		std::atomic<u64> since;   // when it was disabled; 0: it is not held
	};
	u64 magic;
	std::atomic<u64> lease_end;
	std::atomic<u32> entries; // in use
	std::atomic<u32> pid;     // of the coordinator
	Entry entry[MAX_HOLDS];
};
static_assert(std::atomic<u64>::is_always_lock_free && std::atomic<u32>::is_always_lock_free);

// The coordinator's side.
class HoldWriter {
public:
	HoldWriter(HoldTable &table, HoldPort &port, u64 lease_ns) : table_(table), port_(port), lease_ns_(lease_ns) {}

	// Extends the lease. Returns false if it was over: then all holds have been released.
	bool extend_lease();
	// Both return 0 or an errno. A hold that is refused is none. ENOSPC: the table is full. ETIME: the lease is over.
	// EALREADY: the channel is disabled, not by a hold, and is not enabled by release().
	int hold(u64 channel);
	int release(u64 channel);
	int release_all(); // the first errno
	bool holds(u64 channel) const;
	u64 lease_ns() const { return lease_ns_; }

private:
	HoldTable::Entry *find(u64 channel) const;
	int free_entry(HoldTable::Entry &entry);

	HoldTable &table_;
	HoldPort &port_;
	u64 lease_ns_;
};

// The watchdog's side.
class HoldWatch {
public:
	HoldWatch(HoldTable &table, HoldPort &port) : table_(table), port_(port) {}

	// Enables what is no longer good. alive: whether the coordinator is. Returns how many channels are left to enable: those
	// whose enabling was refused.
	u32 enforce(bool alive);
	u64 expired() const { return expired_; }

private:
	HoldTable &table_;
	HoldPort &port_;
	u64 expired_ = 0;
};

} // namespace tool::schedule
