// SPDX-License-Identifier: GPL-2.0
// PCCSR: two words for each channel of a Pascal or Turing chip, instance pointer and state.
// Source: DOC turing/tu104/dev_fifo.ref.txt NV_PCCSR_CHANNEL_INST(i), NV_PCCSR_CHANNEL(i); 4096 entries on GP10x
// and TU10x. The fault bits 23:20 exist from gv100 on.
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class Pccsr : public Unit {
public:
	Pccsr(const Profile &profile, Host &host) : profile_(profile), host_(host) {}
	const char *name() const override { return "pccsr"; }
	std::vector<Range> ranges() const override { return {{0x800000, 0x10000}}; }
	bool read(uint32_t offset, uint32_t &value) override;
	bool write(uint32_t offset, uint32_t value) override;

private:
	uint32_t state_word(uint32_t chid) const;

	const Profile &profile_;
	Host &host_;
};

} // namespace emu
