// SPDX-License-Identifier: GPL-2.0
// The driver part: turns a scenario into what a driver would leave behind: instance blocks, page tables, context
// images and runlists in video memory, bound and enabled channels, submitted runlists. It uses the same registers a
// driver uses (from the side: uncounted) and writes memory directly. The JSON schema is in emulator/README.md.
#pragma once
#include "driver/page_tables.hpp"
#include "model/gpu.hpp"
#include "model/host.hpp"

namespace emu {

class DriverPart {
public:
	explicit DriverPart(Gpu &gpu) : gpu_(gpu) {}

	void load(const nlohmann::json &scenario);
	// Zeroed video memory, never given back before the next load().
	uint64_t allocate(uint64_t bytes, uint64_t align);
	void submit(Runlist &rl, Phys base, uint32_t length);

private:
	struct ChannelPlan {
		uint32_t id;
		unsigned runqueue = 0, slot = 0;
		bool busy = true, enabled = true, next = false, pbdma_faulted = false, eng_faulted = false;
		uint64_t inst = 0, userd = 0;
	};
	struct TsgPlan {
		uint32_t id;
		uint32_t timeout = 128, scale = 3;
		unsigned graphics = 0, compute = 0;
		bool bare = false;
		std::vector<ChannelPlan> channels;
	};
	struct ProcessPlan {
		std::string name;
		unsigned page_shift = 0;                   // 0: by position in the scenario
		std::vector<std::pair<int, TsgPlan>> tsgs; // runlist, TSG
	};

	std::vector<ProcessPlan> plan(const nlohmann::json &scenario);
	TsgPlan plan_tsg(const nlohmann::json &t, int *runlist);
	void plan_generated(const nlohmann::json &g, std::vector<ProcessPlan> &out);
	void check(const std::vector<ProcessPlan> &processes);
	void build_process(ProcessPlan &p, unsigned index);
	void build_context(AddressSpace &space, const ProcessPlan &p, TsgPlan &t, unsigned index, unsigned nth,
			   uint64_t *wfi);
	void build_instance(const AddressSpace &space, ChannelPlan &c, uint64_t wfi);
	void build_bars(const nlohmann::json &scenario);
	void build_bar(int bar, const std::string &what);
	void write_runlist(Runlist &rl, const std::vector<const TsgPlan *> &tsgs);
	void start_channel(Runlist &rl, const ChannelPlan &c);
	bool has_graphics(int runlist) const;
	void quiesce();

	Gpu &gpu_;
	uint64_t inst_first_ = 0, inst_last_ = 0; // region with instance blocks and page tables
};

} // namespace emu
