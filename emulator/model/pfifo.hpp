// SPDX-License-Identifier: GPL-2.0
// PFIFO of Kepler to Turing, but for turing_runlists.hpp. Absent on a chip: what no source gives for it. Sources: DOC
// turing/tu104, volta/gv100 dev_fifo.ref.txt NV_PFIFO_*; linux-nvgpu hw_fifo_{gk20a,gm20b,gp106,gp10b,gv11b}.h,
// hal/fifo/preempt_gv11b_fusa.c; envytools rnndb/fifo/gf100_pfifo.xml (gk104).
#pragma once
#include "model/host.hpp"
#include "model/unit.hpp"

namespace emu {

class Pfifo : public Unit {
public:
	Pfifo(const Profile &profile, Host &host) : profile_(profile), host_(host) {}
	std::vector<Range> ranges() const override { return {{0x2000, 0xb00}, {0x2c00, 0x1400}}; }
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

	void reset_interrupts(); // none is pending or enabled
	bool interrupt_pending() { return (intr_0() & intr_en_0_) != 0; }

private:
	u32 engine_word(unsigned engine_id) const;
	u32 pbdma_word(unsigned pbdma) const;
	u32 engine_inst(unsigned engine_id, bool next) const;
	u32 pbdma_inst(unsigned pbdma) const;
	const Runlist *runlist_of_engine(unsigned engine_id, unsigned *slot) const;
	const Runlist *runlist_of_pbdma(unsigned pbdma, unsigned *queue) const;
	u32 intr_0();

	const Profile &profile_;
	Host &host_;
	u32 runlist_base_ = 0, runlist_ = 0, preempt_ = 0;
	u32 intr_runlist_ = 0, intr_0_ = 0, intr_en_0_ = 0, intr_mask_ = 0, eng_timeout_ = 0x003fffff;
};

} // namespace emu
