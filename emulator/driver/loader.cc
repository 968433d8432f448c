// SPDX-License-Identifier: GPL-2.0
// Builds a planned scenario in memory and starts it through registers. In-memory formats and their sources:
//   instance block  DOC ampere/ga100/dev_ram.ref.txt, turing/tu104/dev_ram.ref.txt NV_RAMIN_*, NV_RAMFC_*
//   context image   DOC turing/tu104/dev_ctxsw.ref.txt NV_CTXSW_MAIN_IMAGE_*; Ada and Hopper assumed as ga102
//   runlist         model/runlist_walk.hpp
#include "driver/loader.hpp"

#include "model/bits.hpp"
#include "model/units.hpp"

#include <stdexcept>

namespace emu {

using nlohmann::json;

uint64_t DriverPart::allocate(uint64_t bytes, uint64_t align)
{
	uint64_t at = (gpu_.heap_ + align - 1) & ~(align - 1);
	if (at + bytes > gpu_.profile().memory_bytes)
		throw std::runtime_error("scenario: does not fit the GPU's memory");
	gpu_.heap_ = at + bytes;
	gpu_.vidmem().fill(at, 0, bytes);
	return at;
}

bool DriverPart::has_graphics(int runlist) const
{
	for (const auto &e : gpu_.profile().engines)
		if (e.runlist == runlist && e.type == 0)
			return true;
	return false;
}

void DriverPart::quiesce()
{
	gpu_.host().reset();
	gpu_.bus().reset();
	if (gpu_.units_->pfifo)
		gpu_.units_->pfifo->reset();
	if (gpu_.units_->turing)
		gpu_.units_->turing->reset();
	gpu_.torn_.spare = 0;
	// RM keeps its own structures high in memory; so does this driver (assumed: upper half).
	gpu_.heap_ = (gpu_.profile().memory_bytes / 2) & ~0x1fffffull;
}

void DriverPart::load(const json &scenario)
{
	auto processes = plan(scenario);
	quiesce();

	inst_first_ = gpu_.heap_;
	std::map<int, std::vector<const TsgPlan *>> lists;
	unsigned index = 0;
	for (auto &p : processes) {
		build_process(p, index++);
		for (const auto &[runlist, t] : p.tsgs)
			lists[runlist].push_back(&t);
	}
	inst_last_ = gpu_.heap_;
	gpu_.heap_ = (gpu_.heap_ + 0x1fffff) & ~0x1fffffull; // runlists get a 2 MiB block of their own

	for (auto &rl : gpu_.host().runlists())
		if (auto it = lists.find(rl.info.id); it != lists.end())
			write_runlist(rl, it->second);
		else
			submit(rl, {Aperture::Vid, 0}, 0);
	build_bars(scenario);

	// Let the submits be taken up before anyone looks, as after a driver's start.
	gpu_.advance(10 * gpu_.profile().timing.runlist_fetch);
	gpu_.host().account_all();
}

void DriverPart::build_process(ProcessPlan &p, unsigned index)
{
	static const unsigned shifts[] = {12, 16, 21}; // every page size occurs in a scenario with three processes
	if (!p.page_shift)
		p.page_shift = shifts[index % 3];
	auto version = gpu_.profile().mmu_v3() ? PteVersion::V3 : PteVersion::V2;
	AddressSpace space(gpu_.memories(), version, [this](uint64_t n, uint64_t a) { return allocate(n, a); });
	unsigned nth = 0;
	for (auto &[runlist, t] : p.tsgs) {
		uint64_t wfi = 0;
		if (has_graphics(runlist))
			build_context(space, p, t, index, nth++, &wfi);
		for (auto &c : t.channels)
			build_instance(space, c, wfi);
	}
}

// One context image for each TSG with graphics: its main header, and from gv100 on a per-VEID header before it.
void DriverPart::build_context(AddressSpace &space, const ProcessPlan &p, TsgPlan &t, unsigned index, unsigned nth,
			       uint64_t *wfi)
{
	Family family = gpu_.profile().family;
	Memory &vid = gpu_.vidmem();
	uint64_t page = 1ull << p.page_shift;
	// Kernel-side addresses of a process; the value is this driver's choice. RAMIN has 40 bits for the pointer.
	uint64_t va = 0x7f00000000ull + (uint64_t(index) << 24) * 8 + uint64_t(nth) * 2 * page;

	uint64_t main = allocate(page, page), main_va = va;
	space.map(main_va, {Aperture::Vid, main}, p.page_shift);
	vid.wr32(main + 0x04, uint32_t(page));          // SIZE
	vid.wr32(main + 0x08, gpu_.profile().num_gpcs); // NUM_GPCS
	if (family != Family::Pascal)                   // CTL: TYPE COMPUTE, MAGIC_VALUE
		vid.wr32(main + 0x0c, put(5, 0, 0x20) | put(31, 16, 0xcafe));
	vid.wr32(main + 0x80, t.graphics); // GRAPHICS_PREEMPTION_OPTIONS
	vid.wr32(main + 0x84, t.compute);  // COMPUTE_PREEMPTION_OPTIONS
	if (family != Family::Pascal)
		vid.wr32(main + 0xf0, t.id);                     // CONTEXT_ID
	vid.wr32(main + 0xfc, 0x600dc0de);                       // MAGIC_VALUE
	if (family == Family::Ada || family == Family::Hopper) { // MAGIC_VALUE_2, _3: ga100, ga102
		vid.wr32(main + 0x100, 0xdeadce11);
		vid.wr32(main + 0x1fc, 0xfaceb00c);
	}
	*wfi = main_va;
	if (family == Family::Pascal)
		return;

	uint64_t veid = allocate(page, page), veid_va = va + page;
	space.map(veid_va, {Aperture::Vid, veid}, p.page_shift);
	vid.wr32(veid + 0x0c, put(5, 0, 0x21) | put(31, 16, 0xcafe)); // CTL: TYPE PER_VEID_HEADER
	vid.wr32(veid + 0x78, uint32_t(main_va >> 32) & 0x1ffff);     // CONTEXT_BUFFER_PTR_HI 16:0
	vid.wr32(veid + 0x7c, uint32_t(main_va));                     // CONTEXT_BUFFER_PTR
	*wfi = veid_va;
}

void DriverPart::build_instance(const AddressSpace &space, ChannelPlan &c, uint64_t wfi)
{
	const Profile &profile = gpu_.profile();
	Memory &vid = gpu_.vidmem();
	c.inst = allocate(4096, 4096);
	c.userd = allocate(512, 512);
	auto word = [&](unsigned i, uint32_t v) { vid.wr32(c.inst + 4 * i, v); };

	// RAMFC
	if (profile.pfifo()) { // USERD; from ga100 on it is in the runlist entry
		word(2, uint32_t(c.userd));
		word(3, uint32_t(c.userd >> 32));
	}
	word(4, 0xface); // SIGNATURE
	if (profile.family != Family::Pascal)
		word(63, put(27, 16, c.id)); // SET_CHANNEL_INFO: CHID, VEID 0

	// PDB: VOL 2, USE_VER2 10 (0 for V3 tables), BIG_PAGE_SIZE 11 (64 KiB)
	uint32_t pdb_lo = (uint32_t(space.pdb()) & ~0xfffu) | 1u << 2 | (profile.mmu_v3() ? 0 : 1u << 10) | 1u << 11;
	uint32_t pdb_hi = uint32_t(space.pdb() >> 32);
	word(128, pdb_lo);
	word(129, pdb_hi);
	if (profile.family == Family::Pascal) { // ADR_LIMIT: 49 bits
		word(130, 0xfffff000);
		word(131, 0x0001ffff);
	} else { // subcontext 0 has the same tables; its VER2 bit is written 1 even for V3 ones
		word(166, 1);
		word(168, pdb_lo | 1u << 10);
		word(169, pdb_hi);
	}
	if (wfi) { // ENGINE_WFI: MODE 2 virtual, PTR_LO 31:12; PTR_HI 7:0
		word(132, (uint32_t(wfi) & ~0xfffu) | 1u << 2);
		word(133, uint32_t(wfi >> 32) & 0xff);
	}
}

void DriverPart::write_runlist(Runlist &rl, const std::vector<const TsgPlan *> &tsgs)
{
	bool pascal = gpu_.profile().family == Family::Pascal;
	std::vector<uint32_t> words;
	for (const TsgPlan *t : tsgs) {
		uint32_t n = uint32_t(t->channels.size());
		if (pascal && !t->bare)
			words.insert(words.end(), {uint32_t(put(11, 0, t->id) | 1u << 13 | put(17, 14, t->scale) |
							    put(25, 18, t->timeout) | put(31, 26, n)),
						   0u});
		else if (!pascal)
			words.insert(words.end(), {uint32_t(1u | put(19, 16, t->scale) | put(31, 24, t->timeout)),
						   uint32_t(put(7, 0, n)), t->id, 0u});
		for (const ChannelPlan &c : t->channels) {
			if (pascal)
				words.insert(words.end(), {uint32_t(put(11, 0, c.id) | put(14, 14, c.runqueue)),
							   uint32_t(c.inst >> 12)});
			else
				words.insert(words.end(),
					     {uint32_t(put(1, 1, c.runqueue)) | (uint32_t(c.userd) & 0xffffff00u),
					      uint32_t(c.userd >> 32), uint32_t(c.id | (c.inst & mask(31, 12))),
					      uint32_t(c.inst >> 32)});
		}
	}
	// SUBMIT_BASE is aligned to 4 KiB up to Turing, to 1 KiB from ga102 on: shift 10 is used so that it is seen.
	bool kib = !gpu_.profile().pfifo();
	uint64_t base = allocate(words.size() * 4 + 0x1000, 0x1000) + (kib ? 0x400 : 0);
	gpu_.vidmem().write(base, words.data(), words.size() * 4);

	for (const TsgPlan *t : tsgs)
		for (const ChannelPlan &c : t->channels)
			start_channel(rl, c);
	submit(rl, {Aperture::Vid, base}, uint32_t(words.size() * 4 / (pascal ? 8 : 16)));
}

void DriverPart::start_channel(Runlist &rl, const ChannelPlan &c)
{
	const Profile &profile = gpu_.profile();
	Channel &ch = *gpu_.host().channel(rl, c.id);
	ch.engine_slot = uint8_t(c.slot);
	if (profile.pfifo()) {
		uint32_t at = 0x800000 + 8 * c.id;
		gpu_.poke_register(at, uint32_t(put(27, 0, c.inst >> 12)) | 1u << 31); // bound, video memory
		uint32_t v = c.enabled ? 1u << 10 : 1u << 11;
		v |= put(1, 1, c.next);
		if (profile.family != Family::Pascal)
			v |= put(20, 20, c.pbdma_faulted) | put(21, 21, c.eng_faulted);
		gpu_.poke_register(at + 4, v);
		if (c.busy) {
			if (profile.family == Family::Turing)
				gpu_.poke_register(0xbb0090, uint32_t(put(11, 0, c.id) | put(22, 16, rl.info.id)));
			else
				ch.work = true; // Pascal's Host polls GP_PUT in USERD: not modelled
		}
		return;
	}
	uint32_t at = rl.info.chram_base + 4 * c.id;
	gpu_.poke_register(at, 0xffffffff); // clear channel
	uint32_t set = uint32_t(put(2, 2, c.next) | put(4, 4, c.pbdma_faulted) | put(5, 5, c.eng_faulted));
	if (set)
		gpu_.poke_register(at, set);
	if (c.enabled)
		gpu_.poke_register(at, 0x00000002);
	if (c.busy)
		gpu_.poke_register(0xbb0090, uint32_t(put(11, 0, c.id) | put(22, 16, rl.info.id)));
}

void DriverPart::submit(Runlist &rl, Phys base, uint32_t length)
{
	unsigned id = rl.info.id;
	switch (gpu_.profile().family) {
	case Family::Pascal:
		gpu_.poke_register(0x2270, uint32_t(put(27, 0, base.addr >> 12) | put(29, 28, unsigned(base.ap))));
		gpu_.poke_register(0x2274, uint32_t(put(15, 0, length) | put(23, 20, id)));
		break;
	case Family::Turing:
		gpu_.poke_register(0x2b00 + 16 * id, uint32_t((base.addr & mask(31, 12)) | unsigned(base.ap)));
		gpu_.poke_register(0x2b04 + 16 * id, uint32_t(base.addr >> 32));
		gpu_.poke_register(0x2b08 + 16 * id, length);
		break;
	default:
		gpu_.poke_register(rl.info.pri_base + 0x80, uint32_t((base.addr & mask(31, 10)) | unsigned(base.ap)));
		gpu_.poke_register(rl.info.pri_base + 0x84, uint32_t(base.addr >> 32));
		gpu_.poke_register(rl.info.pri_base + 0x88, length);
	}
}

// BAR1 and BAR2 as a driver sets them up: instance block and page tables, virtual addresses from 0.
// "instmem": instance blocks and page tables, as many as fit (default for BAR2); "all": those and the runlists;
// "none": bound, nothing mapped (default for BAR1); "physical": no tables, offsets are video memory addresses.
void DriverPart::build_bars(const json &scenario)
{
	build_bar(1, scenario.value("bar1", "none"));
	build_bar(2, scenario.value("bar2", "instmem"));
}

void DriverPart::build_bar(int bar, const std::string &what)
{
	const Profile &profile = gpu_.profile();
	uint64_t inst = 0;
	bool is_virtual = what != "physical";
	if (is_virtual) {
		uint64_t last = what == "all" ? gpu_.heap_ : inst_last_, size = profile.bar_size[bar];
		uint64_t first = inst_first_;
		auto version = profile.mmu_v3() ? PteVersion::V3 : PteVersion::V2;
		AddressSpace space(gpu_.memories(), version, [this](uint64_t n, uint64_t a) { return allocate(n, a); });
		if (what == "instmem" || what == "all")
			for (uint64_t at = first, va = 0; at < last && va < size; at += 0x10000, va += 0x10000)
				space.map(va, {Aperture::Vid, at}, 16);
		else if (what != "none")
			throw std::invalid_argument("scenario: bar" + std::to_string(bar) + " cannot be " + what);
		ChannelPlan c{};
		build_instance(space, c, 0);
		inst = c.inst;
	}
	uint32_t older = uint32_t(put(27, 0, inst >> 12) | put(31, 31, is_virtual));
	switch (profile.family) {
	case Family::Pascal: gpu_.poke_register(bar == 1 ? 0x1704 : 0x1714, older); break;
	case Family::Turing:
	case Family::Ada: gpu_.poke_register(bar == 1 ? 0xb80f40 : 0xb80f48, older); break;
	case Family::Hopper:
		gpu_.poke_register(bar == 1 ? 0xb80f60 : 0xb80f70,
				   uint32_t(put(9, 9, is_virtual) | (inst & mask(31, 12))));
		gpu_.poke_register(bar == 1 ? 0xb80f64 : 0xb80f74, uint32_t(inst >> 32));
		break;
	}
}

} // namespace emu
