// SPDX-License-Identifier: GPL-2.0
// PCCSR: instance pointer and state of each channel up to Turing. Sources: DOC turing/tu104/dev_fifo.ref.txt
// NV_PCCSR_CHANNEL_INST(i), NV_PCCSR_CHANNEL(i); linux-nvgpu hw_ccsr_gk20a.h ccsr_channel_runlist_f (Kepler). A
// channel that was just bound is PENDING and BUSY: a Titan V (syntheticChemistry/hotSpring
// data/titanv/reagent-captures); on other chips assumed.
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
	bool is_loaded(u32 chid) const;

	const Profile &profile_;
	Host &host_;
};

} // namespace emu
