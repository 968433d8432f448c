// SPDX-License-Identifier: GPL-2.0
// The back end for TSGs of a GPU whose channels can be disabled: through the files of /proc/gpuX, or whatever implements
// GpuPort. A TSG is held by disabling its channels and taking it off the engine. Other TSGs are left alone.
#pragma once
#include "lib/model/model.hpp"
#include "lib/schedule/backend.hpp"
#include "lib/schedule/holds.hpp"

#include <functional>

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
	// The same for hold_channel, whose holds end when this process does. EALREADY: the channel is disabled, not by a hold.
	virtual int hold_channel(const std::string &text) = 0;
	// After fork(2): the holds end with the other process.
	virtual void leave_holds() {}
	virtual u64 now() = 0; // ns
};

// /proc/gpuX of the module.
class ModulePort : public GpuPort {
public:
	ModulePort(std::string proc, unsigned index) : proc_(std::move(proc)), index_(index) {}
	~ModulePort() override { leave_holds(); }

	Gpu read_gpu() override;
	int write_file(const char *file, const std::string &text) override;
	int hold_channel(const std::string &text) override;
	void leave_holds() override;
	u64 now() override;

private:
	std::string path(const char *file) const;

	std::string proc_;
	unsigned index_;
	int holds_ = -1; // hold_channel, open
};

// Enables and disables channels of a hold table.
class ChannelPort : public HoldPort {
public:
	// per_runlist: ids count per runlist (Chip::ids_per_runlist).
	ChannelPort(GpuPort &gpu, bool per_runlist) : gpu_(gpu), per_runlist_(per_runlist) {}

	int disable_channel(u64 channel) override { return gpu_.hold_channel(id_text(channel)); }
	int enable_channel(u64 channel) override { return gpu_.write_file("enable_channel", id_text(channel)); }
	u64 now() override { return gpu_.now(); }
	// Returns the id of a TSG or channel in the module's format. channel: runlist << 32 | id.
	std::string id_text(u64 channel) const;

private:
	GpuPort &gpu_;
	bool per_runlist_;
};

// Returns runlist << 32 | id of the TSG that a text "3" or "0:3" names. Throws Error, which begins with where.
u64 find_tsg(const Gpu &gpu, const std::string &text, const std::string &where);

class ChannelBackend : public Backend {
public:
	// tsgs: of each task, as find_tsg() returns them. check: called before each step of a hold, for which looks at the
	// GPU take the longest; throws Error where nothing may be held any more.
	ChannelBackend(GpuPort &gpu, HoldTable &table, bool per_runlist, u64 lease_ns, const std::vector<u64> &tsgs,
		       std::function<void()> check);

	Answer set_slice(size_t task, u32 us) override;
	Answer hold(size_t task) override;
	Answer release(size_t task) override;
	Answer release_all() override;
	Answer evict(size_t task) override;
	Answer commit() override;
	Answer gate(size_t task, bool closed) override;
	std::vector<TaskState> account() override;
	bool extend_lease() override { return writer_.extend_lease(); }
	u64 lease_ns() const override { return writer_.lease_ns(); }
	u64 now() override { return gpu_.now(); }

private:
	struct TaskTsg {
		u64 id = 0;
		std::vector<u64> channels{}; // as last seen
		std::vector<u64> held{};     // channels in the hold table
	};

	const Tsg *find(const Gpu &gpu, const TaskTsg &task) const;
	Answer undo_hold(size_t task, Outcome outcome, std::string reason);

	GpuPort &gpu_;
	ChannelPort port_;
	HoldWriter writer_;
	std::function<void()> check_;
	std::vector<TaskTsg> tasks_;
	std::vector<TaskState> last_;
};

} // namespace tool::schedule
