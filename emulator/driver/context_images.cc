// SPDX-License-Identifier: GPL-2.0
// Context images: one main context image for each TSG with graphics, and from gv100 on a header per subcontext (VEID)
// before it. Sources: DOC turing/tu104/dev_ctxsw.ref.txt, ampere/ga100/dev_ctxsw.ref.txt NV_CTXSW_MAIN_IMAGE_*; linux-nvgpu
// hw_ctxsw_prog_gm20b.h, hw_ctxsw_prog_gp106.h, hw_ctxsw_prog_ga10b.h. Ada, Hopper and Blackwell assumed as ga102.
#include "driver/loader.hpp"

#include "model/bits.hpp"

namespace emu {

// Returns the virtual address at which it was mapped. Kepler and gm107 publish no layout: a page of 0x5c.
u64 DriverPart::build_context_image(ProcessPlan &p, const TsgPlan &t, u64 va)
{
	const Profile &profile = gpu_.profile();
	Memories &mem = gpu_.memories();
	u64 page = 1ull << p.page_shift;
	Phys main = allocate(Contexts, page, page);
	p.space->map(va, main, p.page_shift);
	auto word = [&](unsigned offset, u32 v) { mem.wr32({main.ap, main.addr + offset}, v); };

	ContextImageKind kind = profile.traits.context_image;
	if (kind == ContextImageKind::Unpublished) {
		for (unsigned at = 0; at < 0x100; at += 4)
			word(at, 0x5c5c5c5c);
		return va;
	}
	word(0x04, u32(page));        // SIZE
	word(0x08, profile.num_gpcs); // NUM_GPCS
	if (kind == ContextImageKind::Gm20b) {
		word(0x60, t.compute ? 1 : 0); // PREEMPTION_OPTIONS: CTA
	} else {
		word(0x80, t.graphics); // GRAPHICS_PREEMPTION_OPTIONS
		word(0x84, t.compute);  // COMPUTE_PREEMPTION_OPTIONS
	}
	if (kind == ContextImageKind::PerVeid) // CTL: TYPE COMPUTE, MAGIC_VALUE
		word(0x0c, put_bits(5, 0, 0x20) | put_bits(31, 16, 0xcafe));
	if (kind != ContextImageKind::Gp10x || profile.unified) // not in the gp106 header, but in gp10b's
		word(0xf0, t.id);                               // CONTEXT_ID
	word(0xfc, 0x600dc0de);                                 // MAGIC_VALUE
	if (!profile.pfifo()) {                                 // MAGIC_VALUE_2, _3: ga100, ga102
		word(0x100, 0xdeadce11);
		word(0x1fc, 0xfaceb00c);
	}
	if (profile.image_magic_4) { // MAGIC_VALUE_4, _5: ga10b
		word(0x200, 0x0baff1ed);
		word(0x2fc, 0xca5caded);
	}
	return va;
}

u64 DriverPart::build_veid_header(ProcessPlan &p, u64 va, u64 main_va)
{
	u64 page = 1ull << p.page_shift;
	Phys header = allocate(Contexts, page, page);
	p.space->map(va, header, p.page_shift);
	auto word = [&](unsigned offset, u32 v) { gpu_.memories().wr32({header.ap, header.addr + offset}, v); };
	word(0x0c, put_bits(5, 0, 0x21) | put_bits(31, 16, 0xcafe)); // CTL: TYPE PER_VEID_HEADER
	word(0x78, u32(main_va >> 32) & 0x1ffff);                    // CONTEXT_BUFFER_PTR_HI 16:0
	word(0x7c, u32(main_va));                                    // CONTEXT_BUFFER_PTR
	return va;
}

} // namespace emu
