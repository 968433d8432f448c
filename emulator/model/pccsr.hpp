// SPDX-License-Identifier: GPL-2.0
// PCCSR: two words for each channel of a chip up to Turing, instance pointer and state.
// Source: DOC turing/tu104/dev_fifo.ref.txt NV_PCCSR_CHANNEL_INST(i), NV_PCCSR_CHANNEL(i). The number of entries is
// the profile's. The fault bits 23:20 exist from gv100 on; on Kepler 19:16 is the channel's runlist (linux-nvgpu
// hw_ccsr_gk20a.h ccsr_channel_runlist_f).
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class Pccsr : public Unit {
public:
	Pccsr(const Profile &profile, Host &host) : profile_(profile), host_(host) {}
	std::vector<Range> ranges() const override { return {{0x800000, 0x10000}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;

private:
	u32 state_word(u32 chid) const;

	const Profile &profile_;
	Host &host_;
};

} // namespace emu
