// SPDX-License-Identifier: GPL-2.0
// The chip of one emulated GPU: BARs, time, access counts and log, injected faults; the units own the registers. Time
// is virtual by default and deterministic: advance() moves it and, so that polling ends, access_ns at each BAR access.
// real_time() ties it to the machine's clock instead.
#pragma once
#include "model/memory.hpp"
#include "model/profile.hpp"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace emu {

class Host;
class Bus;
class Unit;
struct GpuUnits;

struct Counts {
	enum Region { Bar0, Pramin, Bar1, Bar2, REGIONS };
	u64 reads[4] = {}, writes[4] = {}; // by width: 1, 2, 4, 8 bytes
	u64 region_reads[REGIONS] = {}, region_writes[REGIONS] = {};
	u64 unknown_reads = 0, unknown_writes = 0; // BAR0 offsets no unit models
	u64 wide_register_accesses = 0;            // accesses to registers that are not 32 bits wide

	u64 all_reads() const { return reads[0] + reads[1] + reads[2] + reads[3]; }
	u64 all_writes() const { return writes[0] + writes[1] + writes[2] + writes[3]; }
};

struct Access {
	bool write;
	int bar;
	u64 offset;
	unsigned size;
	u64 value;
	bool unknown;
};

// A register that was accessed and that no unit models.
struct Unmodelled {
	u64 reads = 0, writes = 0;
	std::optional<u64> written; // last
};

// What is on one engine now.
struct Running {
	std::string engine;
	int runlist;
	std::optional<u32> tsg, channel; // none: idle
};

class Gpu {
public:
	// Throws std::invalid_argument when the profile contradicts itself; file: its name, for the error.
	explicit Gpu(const nlohmann::json &profile, const std::string &file = "");
	virtual ~Gpu();

	// Scheduler and host registers as after power-up; memory, time, counts and faults stay.
	void reset();

	// bar: 0, 1, 2 for BAR0, BAR1, BAR2 (not the PCI index). Counted, logged, subject to faults.
	u64 read(int bar, u64 offset, unsigned size);
	void write(int bar, u64 offset, unsigned size, u64 value);

	// BAR0 registers from the side: not counted, not logged, no faults, no time passes.
	u32 peek_register(u32 offset);
	void poke_register(u32 offset, u32 value);

	void advance(u64 ns);
	void tick(u64 ns); // the same, or with real time up to the clock
	void real_time(bool on);
	bool is_real_time() const { return real_time_; }
	void set_access_ns(u64 ns) { access_ns_ = ns; }
	u64 now() const;
	u64 next_event() const;        // when something happens by itself; NEVER (host.hpp): nothing will
	bool interrupt_raised() const; // on chips whose interrupt tree is modelled

	Memory &vidmem() { return mem_.vid; }
	Memories &memories() { return mem_; }
	void set_sysmem(SysMem *sys) { mem_.sys = sys; }
	const Profile &profile() const { return profile_; }
	Host &host();
	Bus &bus();

	std::vector<Running> running();
	Counts &counts() { return counts_; }
	void reset_counts() { counts_ = Counts{}; }
	// By BAR0 offset, since the last reset_unmodelled(); the first 4096.
	const std::map<u32, Unmodelled> &unmodelled() const { return unmodelled_; }
	void reset_unmodelled() { unmodelled_.clear(); }
	void set_log(bool on) { log_on_ = on; }
	std::vector<Access> take_log();

	// In D3hot nothing but the PCI configuration answers; what is tried is counted all the same. The scheduler goes on.
	void set_asleep(bool asleep) { asleep_ = asleep; }

	struct Faults {
		bool all_ones = false;                  // off the bus: the PCI configuration, too
		bool halves = false;                    // 64-bit reads of PRAMIN have zeros above
		u64 slow_ns = 0;                        // the server waits this long before each answer
		std::unordered_map<u32, u32> bad_reads; // register offset -> value
	};
	Faults &faults() { return faults_; }

protected:
	// Called before a read through PRAMIN (bar 0), BAR1 or BAR2 looks at memory.
	virtual void on_memory_read(int /*bar*/, u64 /*offset*/) {}

private:
	u32 register_read(u32 offset, bool *known);
	bool register_write(u32 offset, u32 value);

	Profile profile_;
	Memories mem_;
	std::unique_ptr<GpuUnits> units_;
	struct Slot {
		Unit *unit;
		u32 base, size;
	};
	std::vector<std::vector<Slot>> pages_; // BAR0, by 4 KiB page

	bool real_time_ = false;
	u64 real_base_ = 0;
	u64 access_ns_ = 1000;

	Unmodelled *note_unmodelled(u32 offset); // null: the list is full

	Counts counts_;
	std::map<u32, Unmodelled> unmodelled_;
	bool log_on_ = false;
	std::vector<Access> log_;

	bool asleep_ = false;
	Faults faults_;
};

} // namespace emu
