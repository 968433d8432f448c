// SPDX-License-Identifier: GPL-2.0
// RLRAM (one 1 KiB block of registers per runlist) and CHRAM (one word per channel of that runlist), Ampere and
// later. Sources: DOC ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_*, NV_CHRAM_CHANNEL_*; submit base alignment
// shift 10 from open-gpu-kernel-modules ampere/ga102/dev_ram.h NV_RAMRL_ENTRY_BASE_SHIFT. For Ada and Hopper the
// layout is inherited, not published.
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class Rlram : public Unit {
public:
	Rlram(const Profile &profile, Host &host, Runlist &rl) : profile_(profile), host_(host), rl_(rl) {}
	std::vector<Range> ranges() const override { return {{rl_.info.pri_base, 0x400}}; }
	bool read(uint32_t offset, uint32_t &value) override;
	bool write(uint32_t offset, uint32_t value) override;

private:
	const EngineInfo *engine_at(unsigned slot) const; // nullptr: none
	bool read_engine(unsigned slot, unsigned reg, uint32_t &v) const;

	const Profile &profile_;
	Host &host_;
	Runlist &rl_;
	uint32_t base_lo_ = 0, base_hi_ = 0, submit_ = 0, preempt_ = 0;
	uint32_t config_ = 0x10, acq_pretest_ = 0x8, idle_filter_ = 0x50, intr_mask_ = 0, channel_cfg_[64] = {};
	uint32_t ctxsw_timeout_[3] = {0x3fffff, 0x3fffff, 0x3fffff};
};

class Chram : public Unit {
public:
	Chram(Host &host, Runlist &rl) : host_(host), rl_(rl) {}
	std::vector<Range> ranges() const override { return {{rl_.info.chram_base, rl_.info.channels * 4}}; }
	bool read(uint32_t offset, uint32_t &value) override;
	bool write(uint32_t offset, uint32_t value) override;

private:
	Host &host_;
	Runlist &rl_;
};

} // namespace emu
