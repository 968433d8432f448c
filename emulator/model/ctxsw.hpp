// SPDX-License-Identifier: GPL-2.0
// The graphics engine's view of a context image in memory: found from an instance block, its preemption modes
// read at each save and its counters of saves and restores written. Other engines have no image here.
//
//   offset  field                                    families
//   0x060   PREEMPTION_OPTIONS 0     1 CTA           gm20b only
//   0x078   CONTEXT_BUFFER_PTR_HI 16:0, 0x07c PTR    gv100.. (per-VEID header -> main image)
//   0x080   GRAPHICS_PREEMPTION 1:0  0 WFI 1 GFXP    gp10x..
//   0x084   COMPUTE_PREEMPTION 1:0   0 WFI 1 CTA 2 CILP
//   0x0d0, 0x0d4, 0x0d8, 0x0dc  saves by WFI, CTA, GFXP, CILP; 0x0f4 all saves, 0x0f8 all restores (gm20b: those two only)
// Sources: DOC turing/tu104/dev_ctxsw.ref.txt NV_CTXSW_MAIN_IMAGE_*; linux-nvgpu hw_ctxsw_prog_gm20b.h,
// hw_ctxsw_prog_gp106.h. Ada, Hopper and Blackwell publish no layout: assumed as ga102. gm204 and gp100: as gm20b and
// gp106. Kepler and gm107: not published; there the image is a page that means nothing and stays untouched.
#pragma once
#include "model/mmu.hpp"
#include "model/profile.hpp"

namespace emu {

enum class SaveKind { Wfi, Cta, Gfxp, Cilp };

class ContextImages {
public:
	ContextImages(const Profile &profile, Memories &mem) : profile_(profile), mem_(mem) {}

	struct Modes {
		u32 graphics, compute;
	};
	// The physical address of the main image's header, or nothing if the instance block leads nowhere.
	std::optional<Phys> find_image(Phys instance_block) const;
	std::optional<Modes> read_modes(Phys instance_block) const;
	// How a save of this context is done, by the modes stored in it: compute mode first, then graphics.
	SaveKind save_kind(Phys instance_block) const;
	void count_saves(Phys instance_block, u32 n);
	void count_restores(Phys instance_block, u32 n);

private:
	void add_to_word(Phys header, unsigned offset, u32 n);

	const Profile &profile_;
	Memories &mem_;
};

} // namespace emu
