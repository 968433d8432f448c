// SPDX-License-Identifier: GPL-2.0
// One emulated GPU in process: BARs, time, access counts and log, injected faults, control commands. It joins the
// units; what a register means is in the unit that owns it. No sockets, no PCI (server/ has those).
//
// Time is virtual by default and deterministic: it moves by advance() and, so that polling ends, by access_ns at
// each BAR access. real_time() ties it to the machine's clock instead.
#pragma once
#include "model/memory.hpp"
#include "model/profile.hpp"

#include <functional>
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
	uint64_t reads[4] = {}, writes[4] = {}; // by width: 1, 2, 4, 8 bytes
	uint64_t region_reads[REGIONS] = {}, region_writes[REGIONS] = {};
	uint64_t unknown_reads = 0, unknown_writes = 0; // BAR0 offsets no unit models
	uint64_t wide_register_accesses = 0;            // accesses to registers that are not 32 bits wide

	uint64_t all_reads() const { return reads[0] + reads[1] + reads[2] + reads[3]; }
	uint64_t all_writes() const { return writes[0] + writes[1] + writes[2] + writes[3]; }
};

struct Access {
	bool write;
	int bar;
	uint64_t offset;
	unsigned size;
	uint64_t value;
	bool unknown;
};

// What is on one engine now.
struct Running {
	std::string engine;
	int runlist;
	std::optional<uint32_t> tsg, channel; // none: idle
};

class Gpu {
public:
	static std::unique_ptr<Gpu> create(const nlohmann::json &profile);
	static std::unique_ptr<Gpu> create_from_file(const std::string &path);
	~Gpu();

	void load_scenario(const nlohmann::json &scenario);
	// Whether loading it has to wait for the machine's memory (or for a window into it).
	bool needs_system_memory(const nlohmann::json &scenario) const;

	// bar: 0, 1, 2 for BAR0, BAR1, BAR2 (not the PCI index). Counted, logged, subject to faults.
	uint64_t read(int bar, uint64_t offset, unsigned size);
	void write(int bar, uint64_t offset, unsigned size, uint64_t value);

	// BAR0 registers from the side: not counted, not logged, no faults, no time passes.
	uint32_t peek_register(uint32_t offset);
	void poke_register(uint32_t offset, uint32_t value);

	void advance(uint64_t ns);
	void real_time(bool on);
	void set_access_ns(uint64_t ns) { access_ns_ = ns; }
	uint64_t now() const;

	Memory &vidmem() { return mem_.vid; }
	Memories &memories() { return mem_; }
	void set_sysmem(SysMem *sys) { mem_.sys = sys; }
	const Profile &profile() const { return profile_; }
	Host &host();
	Bus &bus();

	std::vector<Running> running();
	Counts &counts() { return counts_; }
	void reset_counts() { counts_ = Counts{}; }
	void set_log(bool on) { log_on_ = on; }
	std::vector<Access> take_log();

	// One command of the control socket; never throws: {"ok":false,"error":...} instead.
	nlohmann::json control(const nlohmann::json &command);

	// In D3hot nothing but the PCI configuration answers; what is tried is counted all the same. The scheduler goes on.
	void set_asleep(bool asleep) { asleep_ = asleep; }
	bool off_the_bus() const { return all_ones_; } // the PCI configuration reads as all ones too
	uint64_t slow_ns() const { return slow_ns_; }  // the server waits this long before each answer

private:
	explicit Gpu(const nlohmann::json &profile);
	void tick(uint64_t ns);
	uint32_t register_read(uint32_t offset, bool *known);
	bool register_write(uint32_t offset, uint32_t value);
	void torn_check(int bar, uint64_t offset);
	void tear(int runlist);
	nlohmann::json dispatch(const nlohmann::json &command);
	nlohmann::json control_translate(const nlohmann::json &command);
	nlohmann::json control_fault(const nlohmann::json &command);
	nlohmann::json control_state();
	nlohmann::json control_runtime();

	Profile profile_;
	Memories mem_;
	std::unique_ptr<GpuUnits> units_;
	struct Slot {
		Unit *unit;
		uint32_t base, size;
	};
	std::vector<std::vector<Slot>> pages_; // BAR0, by 4 KiB page

	bool real_time_ = false;
	uint64_t real_base_ = 0;
	uint64_t access_ns_ = 1000;

	Counts counts_;
	bool log_on_ = false;
	std::vector<Access> log_;

	bool all_ones_ = false, asleep_ = false, halves_ = false;
	uint64_t slow_ns_ = 0;
	std::unordered_map<uint32_t, uint32_t> bad_reads_;
	struct Torn {
		int runlist = -1;
		uint64_t every = 0, seen = 0, times = 0;
		bool in_place = false;
		uint64_t spare = 0; // the other buffer
	} torn_;
	nlohmann::json scenario_;
	struct Heap { // where the driver part's next allocation goes, and where that ends
		uint64_t at = 0, end = 0;
	} heap_vid_, heap_sys_;
	friend class DriverPart;
};

} // namespace emu
