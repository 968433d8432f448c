// SPDX-License-Identifier: GPL-2.0
// NV_RUNLIST (1 KiB of registers per runlist) and NV_CHRAM (channel RAM: one word per channel of that runlist), ga100
// and later; for Ada and Hopper assumed. Sources: DOC ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_*,
// NV_CHRAM_CHANNEL_*; submit_shift 10: open-gpu-kernel-modules ampere/ga102/dev_ram.h NV_RAMRL_ENTRY_BASE_SHIFT.
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class RunlistRegisters : public Unit {
public:
	RunlistRegisters(const Profile &profile, Host &host, Runlist &rl) : profile_(profile), host_(host), rl_(rl) {}
	std::vector<Range> ranges() const override { return {{rl_.info.pri_base, 0x400}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	const EngineInfo *engine_at(unsigned slot) const; // nullptr: none
	bool read_engine(unsigned slot, unsigned reg, u32 &v) const;
	u32 event_vector(unsigned tree) const;

	const Profile &profile_;
	Host &host_;
	Runlist &rl_;
	u32 base_lo_ = 0, base_hi_ = 0, submit_ = 0, preempt_ = 0;
	u32 config_ = 0x10, acq_pretest_ = 0x8, idle_filter_ = 0x50, intr_mask_ = 0, channel_cfg_[64] = {};
	u32 intr_tree1_ = 0;
	u32 ctxsw_timeout_[3] = {0x3fffff, 0x3fffff, 0x3fffff};
};

class ChannelRam : public Unit {
public:
	ChannelRam(Host &host, Runlist &rl) : host_(host), rl_(rl) {}
	std::vector<Range> ranges() const override { return {{rl_.info.chram_base, rl_.info.channels * 4}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	Host &host_;
	Runlist &rl_;
};

} // namespace emu
