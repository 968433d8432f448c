// SPDX-License-Identifier: GPL-2.0
// Turing's runlist registers: NV_PFIFO_RUNLIST_BASE_LO/HI, SUBMIT, SUBMIT_INFO at 0x2b00 + 16*i.
// Source: DOC turing/tu104/dev_fifo.ref.txt; base and submit read back what was last written (RW-4A).
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class TuringRunlists : public Unit {
public:
	TuringRunlists(const Profile &profile, Host &host) : profile_(profile), host_(host), regs_(profile.max_runlists)
	{
	}
	std::vector<Range> ranges() const override { return {{0x2b00, 0x100}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override { regs_.assign(profile_.max_runlists, Regs{}); }

private:
	struct Regs {
		u32 base_lo = 0, base_hi = 0, submit = 0;
	};
	const Profile &profile_;
	Host &host_;
	std::vector<Regs> regs_;
};

// PREEMPTED_TSGID 13:0, its VALID 14, PENDING 15, PREEMPTED_OFFSET 31:16: Turing's and ga100's SUBMIT_INFO.
u32 submit_info_word(const Runlist &rl);

} // namespace emu
