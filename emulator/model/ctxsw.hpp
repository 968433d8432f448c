// SPDX-License-Identifier: GPL-2.0
// A context image of the graphics engine, found from an instance block: its preemption modes are read at each save and
// its counters written. Other engines have no image here. Fields and sources: emulator/README.md, "Context images".
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
	// The physical address of the context image, or nothing if the instance block leads nowhere.
	std::optional<Phys> find_context_image(Phys instance_block) const;
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
