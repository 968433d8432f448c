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
	// What the CPU gets from PFIFO and PBDMAs while PMC_ENABLE keeps PFIFO off: a Titan V after POST. A K80 gives
	// 0xbad0da1f and 0xbad0da3d (syntheticChemistry/hotSpring data/titanv, data/k80); on other chips assumed.
	static constexpr u32 OFF = 0xbad0da00;

	Pfifo(const Profile &profile, Host &host) : profile_(profile), host_(host) { Pfifo::reset(); }
	std::vector<Range> ranges() const override
	{
		return {{0x2000, 0x2000}, {0x40000, 0x2000 * profile_.num_pbdma}};
	}
	bool read(u32 offset, u32 &value) override;
	bool write(u32 offset, u32 value) override;
	void reset() override;

	void set_on(bool on); // off: none of its interrupts is pending or enabled
	bool interrupt_pending(unsigned word) { return (intr_0() & intr_en_[word]) != 0; }

private:
	u32 engine_word(unsigned engine_id) const;
	u32 pbdma_word(unsigned pbdma) const;
	u32 engine_inst(unsigned engine_id, bool next) const;
	u32 pbdma_inst(unsigned pbdma) const;
	const Runlist *runlist_of_engine(unsigned engine_id, unsigned *slot) const;
	const Runlist *runlist_of_pbdma(unsigned pbdma, unsigned *queue) const;
	bool read_array(u32 offset, u32 &value) const;
	u32 intr_0();
	u32 runlists_with(bool Runlist::*flag) const; // a bit for each
	u32 pbdma_map(unsigned pbdma) const;
	void preempt(u32 value);
	void submit(u32 value);

	const Profile &profile_;
	Host &host_;
	bool on_ = false;
	u32 runlist_base_, runlist_, preempt_, eng_timeout_, intr_0_, intr_en_[2], intr_mask_;
};

} // namespace emu
