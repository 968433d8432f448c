// SPDX-License-Identifier: GPL-2.0
// Builds a scenario (schema: emulator/README.md) in memory and starts it through a driver's registers, uncounted.
// plan.cc: JSON -> checked plan; loader.cc: instance blocks, runlists, submits; images.cc: context images; windows.cc:
// placement, BAR1 and BAR2.
#pragma once
#include "driver/page_tables.hpp"
#include "model/gpu.hpp"
#include "model/host.hpp"

namespace emu {

class DriverPart {
public:
	explicit DriverPart(Gpu &gpu) : gpu_(gpu) {}

	void load_scenario(const Entry &scenario);
	// Zeroed memory in the heap of that aperture, never given back before the next load_scenario().
	Phys allocate(Aperture ap, u64 bytes, u64 align);
	void submit(Runlist &rl, Phys base, u32 length);

	// Whether load_scenario() has to wait for the machine's memory, or for a window into it.
	bool needs_system_memory(const Entry &scenario) const;

private:
	enum Kind { Runlists, Instances, Tables, Contexts, KINDS };
	struct ChannelPlan {
		u32 id = 0;
		unsigned runqueue = 0, slot = 0, veid = 0;
		bool busy = true, enabled = true, next = false, pbdma_faulted = false, eng_faulted = false;
		Phys inst, userd;
		std::optional<Entry> jobs; // nothing: its work is endless
	};
	struct SubcontextPlan {
		unsigned veid = 0;
		std::optional<Entry> process; // the name of the process whose tables it uses; nothing: the TSG's own
	};
	struct TsgPlan {
		u32 id = 0;
		u32 timeout = 128, scale = 3;
		unsigned graphics = 0, compute = 0;
		bool bare = false;
		std::optional<Entry> entry;              // of the scenario, for errors
		std::vector<SubcontextPlan> subcontexts; // empty: number 0 alone
		std::vector<ChannelPlan> channels;
	};
	struct ProcessPlan {
		std::string name;
		unsigned page_shift = 0;                   // 0: by position in the scenario
		std::vector<std::pair<int, TsgPlan>> tsgs; // runlist, TSG
		std::unique_ptr<AddressSpace> space;
	};

	std::vector<ProcessPlan> make_plan(const Entry &scenario);
	TsgPlan plan_tsg(const Entry &t, int *runlist);
	ChannelPlan plan_channel(const Entry &c, int runlist, unsigned slot);
	void plan_generated(const Entry &g, std::vector<ProcessPlan> &out);
	void make_bare(std::vector<ProcessPlan> &processes) const;
	void check_plan(const std::vector<ProcessPlan> &processes);

	void place_memory(const Entry &scenario);
	Phys allocate(Kind kind, u64 bytes, u64 align) { return allocate(ap_[kind], bytes, align); }
	PageFormat page_format(const Entry &scenario) const;

	void build_process(std::vector<ProcessPlan> &all, ProcessPlan &p, unsigned index);
	u64 build_context_image(ProcessPlan &p, const TsgPlan &t, u64 va);
	u64 build_veid_header(ProcessPlan &p, u64 va, u64 main_va);
	void build_instance(const AddressSpace &space, ChannelPlan &c, u64 wfi,
			    const std::vector<std::pair<unsigned, const AddressSpace *>> &subcontexts);
	u32 pdb_word(const AddressSpace &space) const;
	void build_bars(const Entry &scenario);
	void build_bar(int bar, const std::optional<Entry> &contents);
	void fill_bar(AddressSpace &space, int bar, const std::optional<Entry> &contents);
	void map_entry(AddressSpace &space, const Entry &entry);
	void write_runlist(Runlist &rl, const std::vector<const TsgPlan *> &tsgs);
	void start_channel(Runlist &rl, const ChannelPlan &c);
	void start_jobs(Runlist &rl, const ChannelPlan &c);
	bool has_graphics(int runlist) const;

	// The window that a scenario names ("sysmem"), or else the existing one.
	Memories::Window find_window(const Entry &scenario) const;

	Gpu &gpu_;
	std::string document_ = "scenario"; // for errors: with the file, if it has one
	struct Heap {                       // addresses of the next allocation and of the end
		u64 next = 0, end = 0;
	} heap_vid_, heap_sys_;
	Aperture ap_[KINDS] = {};
	Aperture sys_ap_ = Aperture::SysCoherent;
	PageFormat format_;
	// regions with instance blocks, page tables and context images: [0] video, [1] system memory
	struct Region {
		u64 first = 0, last = 0, end = 0;
	} region_[2];
};

} // namespace emu
