// SPDX-License-Identifier: GPL-2.0
// The back end for TSGs of a GPU whose channels can be disabled: through the files of /proc/gpuX, or whatever implements
// GpuPort. A task is a program, so that it may have TSGs on several runlists: it is held by disabling the channels of all of
// them and taking these off their engines. Other TSGs are left alone.
// The module ends each hold when its lease is over, or when this process has ended (hold_channel in docs/proc.md).
#pragma once
#include "lib/model/model.hpp"
#include "lib/schedule/backend.hpp"

#include <set>
#include <utility>

namespace tool::schedule {

// A GPU whose scheduling can be controlled, with the names and texts of /proc/gpuX.
class GpuPort {
public:
	GpuPort() = default;
	GpuPort(const GpuPort &) = delete;
	GpuPort &operator=(const GpuPort &) = delete;
	virtual ~GpuPort() = default;

	virtual Gpu read_gpu() = 0; // throws Error
	// file: "disable_channel", text: "0:8". Returns 0 or an errno.
	virtual int write_file(const char *file, const std::string &text) = 0;
	// The same for hold_channel: "0:8 50" or "* 50", ms. EALREADY: the channel is disabled, not by a hold. ENOENT: of "*",
	// nothing is held.
	virtual int hold_channel(const std::string &text) = 0;
	virtual u64 now() = 0; // ns
};

// /proc/gpuX of the module.
class ModulePort : public GpuPort {
public:
	ModulePort(std::string proc, unsigned index) : proc_(std::move(proc)), index_(index) {}
	~ModulePort() override;

	Gpu read_gpu() override;
	int write_file(const char *file, const std::string &text) override;
	int hold_channel(const std::string &text) override;
	u64 now() override;

private:
	std::string path(const char *file) const;

	std::string proc_;
	unsigned index_;
	int holds_ = -1; // hold_channel, open
};

// Returns runlist << 32 | id of the TSG that a text "3" or "0:3" names. Throws Error, which begins with where.
u64 find_tsg(const Gpu &gpu, const std::string &text, const std::string &where);
// Returns that TSG; of several with this id the one with most channels. Null: it is not there.
const Tsg *tsg_of(const Gpu &gpu, u64 id);

class ChannelBackend : public Backend {
public:
	// per_runlist: ids count per runlist (Chip::ids_per_runlist). tsgs: of each task one or more, as find_tsg() returns them.
	ChannelBackend(GpuPort &gpu, bool per_runlist, u64 lease_ns, const std::vector<std::vector<u64>> &tsgs);

	// Of the task's first TSG.
	Answer set_slice(size_t task, u32 us) override;
	Answer hold(size_t task) override;
	Answer release(size_t task) override;
	Answer release_all() override;
	std::vector<TaskState> account() override;
	bool extend_lease() override;
	u64 lease_ns() const override { return lease_ns_; }
	u64 now() override { return gpu_.now(); }

private:
	struct TaskTsg {
		u64 id = 0;
		std::vector<u64> channels{};           // as last seen
		std::vector<u64> held{};               // channels that this process has disabled
		std::set<std::pair<u32, u64>> known{}; // its channels with their instance blocks
		bool running = false;                  // as last seen
	};

	// Returns the TSG as the GPU has it; null: it is not there, or is another program's by now.
	const Tsg *find_again(const Gpu &gpu, TaskTsg &task) const;
	Answer evict(size_t task); // off the engines, once
	Answer undo_hold(size_t task, Outcome outcome, std::string reason);
	// Returns the id of a TSG or channel in the module's format. id: runlist << 32 | id.
	std::string id_text(u64 id) const;
	u64 lease_ms() const;

	GpuPort &gpu_;
	bool per_runlist_;
	u64 lease_ns_, lease_end_ = 0; // 0: no lease yet
	std::vector<std::vector<TaskTsg>> tasks_;
	std::vector<TaskState> last_;
};

} // namespace tool::schedule
