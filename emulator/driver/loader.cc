// SPDX-License-Identifier: GPL-2.0
// Builds a planned scenario in memory and starts it through registers. Sources: DOC ampere/ga100, turing/tu104
// dev_ram.ref.txt NV_RAMIN_*, NV_RAMFC_*; linux-nvgpu hw_ram_gk20a.h, hw_ram_gm20b.h; OGK blackwell/gb100/dev_ram.h
// (RAMFC words); nouveau gm107.c (word 1 of 8-byte channel entries).
#include "driver/loader.hpp"

#include "model/bits.hpp"

namespace emu {

bool DriverPart::has_graphics(int runlist) const
{
	for (const auto &e : gpu_.profile().engines)
		if (e.runlist == runlist && e.type == 0)
			return true;
	return false;
}

void DriverPart::load_scenario(const Entry &scenario)
{
	if (gpu_.host().work().enabled)
		scenario.refuse("channels execute their pushbuffers (--execute), so that no scenario can be loaded");
	if (gpu_.profile().traits.runlists_locked)
		scenario.refuse("the runlist registers of " + gpu_.profile().name + " are not published");
	document_ = scenario.document();
	format_ = page_format(scenario);
	auto processes = make_plan(scenario);
	place_memory(scenario);
	gpu_.reset();
	if (gpu_.profile().pfifo())
		gpu_.poke_register(0x200, ~0u); // PMC_ENABLE: all units

	for (auto &p : processes)
		p.space = std::make_unique<AddressSpace>(gpu_.memories(), format_,
							 [this](u64 n, u64 a) { return allocate(Tables, n, a); });
	std::map<int, std::vector<const TsgPlan *>> lists;
	unsigned index = 0;
	for (auto &p : processes) {
		build_process(processes, p, index++);
		for (const auto &[runlist, t] : p.tsgs)
			lists[runlist].push_back(&t);
	}
	region_[0].last = heap_vid_.next;
	region_[1].last = heap_sys_.next;
	heap_vid_.next = (heap_vid_.next + 0x1fffff) & ~0x1fffffull; // runlists get a 2 MiB block of their own

	for (auto &rl : gpu_.host().runlists())
		if (auto it = lists.find(rl.info.id); it != lists.end())
			write_runlist(rl, it->second);
		else
			submit(rl, {ap_[Runlists], 0}, 0);
	build_bars(scenario);

	// Let the submits be committed, as after a driver's start.
	gpu_.advance(200'000);
	gpu_.host().count_run_times();
}

void DriverPart::build_process(std::vector<ProcessPlan> &all, ProcessPlan &p, unsigned index)
{
	static const unsigned shifts[] = {12, 16, 21}; // every page size occurs in a scenario with three processes
	if (!p.page_shift)
		p.page_shift = shifts[index % 3];
	if (p.page_shift == 16 || !p.space->has_page(p.page_shift))
		p.page_shift = format_.big_shift;
	// Kernel-side addresses of a process; the value is this driver's choice. RAMIN has 40 bits for the pointer.
	u64 va = 0x7f00000000ull + (u64(index) << 24) * 8, page = 1ull << p.page_shift;
	va = (va + page - 1) & ~(page - 1);

	auto tables_of = [&](const Entry &process) -> const AddressSpace * {
		for (auto &other : all)
			if (other.name == process.text())
				return other.space.get();
		process.refuse("there is no process " + process.text());
	};
	for (auto &[runlist, t] : p.tsgs) {
		std::vector<std::pair<unsigned, const AddressSpace *>> subcontexts;
		for (const auto &s : t.subcontexts)
			subcontexts.emplace_back(s.veid, s.process ? tables_of(*s.process) : p.space.get());
		if (subcontexts.empty())
			subcontexts.emplace_back(0, p.space.get());

		u64 main = 0;
		std::map<unsigned, u64> headers; // by VEID, made when a channel needs it
		if (has_graphics(runlist)) {
			main = build_context_image(p, t, va);
			va += page;
		}
		for (auto &c : t.channels) {
			u64 wfi = main;
			if (main && gpu_.profile().traits.context_image == ContextImageKind::PerVeid) {
				u64 &header = headers[c.veid];
				if (!header) {
					header = build_veid_header(p, va, main);
					va += page;
				}
				wfi = header;
			}
			build_instance(*p.space, c, wfi, subcontexts);
		}
	}
}

// RAMIN word 128 (and the subcontexts' own): TARGET 1:0, VOL 2, USE_VER2 10 (gp.., 0 for V3 tables), BIG_PAGE_SIZE 11
// (gm20x..: 64 KiB), PTR_LO 31:12.
u32 DriverPart::pdb_word(const AddressSpace &space) const
{
	bool has_big_bit = gpu_.profile().traits.pages != PageTables::V1Big128;
	return u32(unsigned(space.pdb().ap) | 1u << 2 | put_bits(10, 10, format_.version == PteVersion::V2) |
		   put_bits(11, 11, has_big_bit && format_.big_shift == 16) | (u32(space.pdb().addr) & ~0xfffu));
}

void DriverPart::build_instance(const AddressSpace &space, ChannelPlan &c, u64 wfi,
				const std::vector<std::pair<unsigned, const AddressSpace *>> &subcontexts)
{
	const Profile &profile = gpu_.profile();
	c.inst = allocate(Instances, 4096, 4096);
	c.userd = allocate(Instances, 512, 512);
	auto word = [&](unsigned i, u32 v) { gpu_.memories().wr32({c.inst.ap, c.inst.addr + 4 * i}, v); };

	// RAMFC. What a channel that has fetched some of its commands holds; the positions are this driver's choice.
	u64 gp_base = 0x100000000ull + u64(c.id) * 0x10000; // virtual
	word(0, 0x18);                                      // GP_PUT
	word(profile.traits.gp_get_word, 0x10);             // GP_GET
	if (profile.pfifo()) { // USERD: TARGET 1:0; from ga100 on it is in the runlist entry
		word(2, u32(c.userd.addr) | unsigned(c.userd.ap));
		word(3, u32(c.userd.addr >> 32));
	}
	word(4, 0xface); // SIGNATURE
	word(profile.traits.gp_base_word, u32(gp_base));
	word(profile.traits.gp_base_word + 1, u32(gp_base >> 32) | put_bits(20, 16, 10)); // GP_BASE_HI: 1024 entries
	if (profile.traits.entry_bytes ==
	    8) // time slice of a bare channel, as 0x2310: TIMEOUT 7:0, SCALE 15:12, ENABLE 28
		word(62, 128 | put_bits(15, 12, 3) | 1u << 28);
	if (profile.traits.subcontexts) // SET_CHANNEL_INFO: SCG_TYPE 0 (graphics and compute 0), VEID 13:8, CHID 27:16
		word(63, put_bits(13, 8, c.veid) | put_bits(27, 16, c.id));

	u64 pdb = space.pdb().addr;
	word(128, pdb_word(space));
	word(129, u32(pdb >> 32));
	if (profile.traits.entry_bytes == 8) { // ADR_LIMIT: 49 bits for V2 tables, 40 for V1
		word(130, 0xfffff000);
		word(131, format_.version == PteVersion::V2 ? 0x0001ffff : 0xff);
	} else if (profile.image_magic_4) {
		word(131, 0xcafeca11); // ga10b
	}
	if (profile.traits.subcontexts) { // SC_PDB_VALID and the tables; their VER2 bit is written 1 even for V3 ones
		u32 valid[2] = {0, 0};
		for (const auto &[veid, tables] : subcontexts) {
			valid[veid / 32] |= 1u << (veid % 32);
			word(168 + 4 * veid, pdb_word(*tables) | 1u << 10);
			word(169 + 4 * veid, u32(tables->pdb().addr >> 32));
		}
		word(166, valid[0]);
		word(167, valid[1]);
	}
	if (wfi) { // ENGINE_WFI: MODE 2 virtual, PTR_LO 31:12; PTR_HI 7:0; VEID 5:0
		word(132, (u32(wfi) & ~0xfffu) | 1u << 2);
		word(133, u32(wfi >> 32) & 0xff);
		if (profile.traits.subcontexts)
			word(134, put_bits(5, 0, c.veid));
	}
}

void DriverPart::write_runlist(Runlist &rl, const std::vector<const TsgPlan *> &tsgs)
{
	const Profile &profile = gpu_.profile();
	bool short_entries = profile.traits.entry_bytes == 8;
	std::vector<u32> words;
	for (const TsgPlan *t : tsgs) {
		u32 n = u32(t->channels.size());
		if (short_entries && !t->bare)
			words.insert(words.end(), {u32(put_bits(11, 0, t->id) | 1u << 13 | put_bits(17, 14, t->scale) |
						       put_bits(25, 18, t->timeout) | put_bits(31, 26, n)),
						   0u});
		else if (!short_entries)
			words.insert(words.end(), {u32(1u | put_bits(19, 16, t->scale) | put_bits(31, 24, t->timeout)),
						   u32(put_bits(7, 0, n)), t->id, 0u});
		for (const ChannelPlan &c : t->channels) {
			if (short_entries)
				words.insert(words.end(), {u32(put_bits(11, 0, c.id) | put_bits(14, 14, c.runqueue)),
							   profile.entry_inst ? u32(c.inst.addr >> 12) : 0});
			else // INST_TARGET 5:4, USERD_TARGET 7:6
				words.insert(words.end(),
					     {u32(put_bits(1, 1, c.runqueue) | put_bits(5, 4, unsigned(c.inst.ap)) |
						  put_bits(7, 6, unsigned(c.userd.ap)) | (c.userd.addr & 0xffffff00u)),
					      u32(c.userd.addr >> 32), u32(c.id | (c.inst.addr & bit_mask(31, 12))),
					      u32(c.inst.addr >> 32)});
		}
	}
	// SUBMIT_BASE is aligned to 4 KiB up to ga100, to 1 KiB from ga102 on: there 1 KiB off, so that a reader that
	// assumes 4 KiB fails.
	bool kib = !profile.pfifo() && profile.traits.submit_shift == 10;
	Phys base = allocate(Runlists, words.size() * 4 + 0x1000, 0x1000);
	base.addr += kib ? 0x400 : 0;
	gpu_.memories().write(base, words.data(), words.size() * 4);

	for (const TsgPlan *t : tsgs)
		for (const ChannelPlan &c : t->channels) {
			start_channel(rl, c);
			if (c.jobs)
				start_jobs(rl, c);
		}
	submit(rl, base, u32(words.size() * 4 / profile.traits.entry_bytes));
}

void DriverPart::start_channel(Runlist &rl, const ChannelPlan &c)
{
	const Profile &profile = gpu_.profile();
	Channel &ch = *gpu_.host().channel(rl, c.id);
	ch.engine_slot = u8(c.slot);
	if (profile.pfifo()) {
		u32 at = 0x800000 + 8 * c.id;
		gpu_.poke_register(at, u32(put_bits(27, 0, c.inst.addr >> 12) | put_bits(29, 28, unsigned(c.inst.ap))) |
					       1u << 31);
		ch.fresh = false; // it has run before
		u32 v = c.enabled ? 1u << 10 : 1u << 11;
		v |= put_bits(1, 1, c.next);
		if (profile.traits.pccsr_runlist)
			v |= put_bits(19, 16, rl.info.id);
		if (profile.traits.host_volta)
			v |= put_bits(20, 20, c.pbdma_faulted) | put_bits(21, 21, c.eng_faulted);
		gpu_.poke_register(at + 4, v);
		if (!c.busy)
			return;
		if (profile.traits.vf)
			gpu_.poke_register(0xbb0090, u32(put_bits(11, 0, c.id) | put_bits(22, 16, rl.info.id)));
		else if (profile.traits.usermode)
			gpu_.poke_register(0x810090, c.id);
		else
			ch.work = true; // Host polls GP_PUT in USERD there: not modelled
		return;
	}
	u32 at = rl.info.chram_base + 4 * c.id;
	gpu_.poke_register(at, 0xffffffff); // clear channel
	u32 set = u32(put_bits(2, 2, c.next) | put_bits(4, 4, c.pbdma_faulted) | put_bits(5, 5, c.eng_faulted));
	if (set)
		gpu_.poke_register(at, set);
	if (c.enabled)
		gpu_.poke_register(at, 0x00000002);
	if (c.busy)
		gpu_.poke_register(0xbb0090, u32(put_bits(11, 0, c.id) | put_bits(22, 16, rl.info.id)));
}

void DriverPart::start_jobs(Runlist &rl, const ChannelPlan &c)
{
	Host &host = gpu_.host();
	host.give_jobs(rl, c.id, allocate(Instances, 16, 16));
	if (c.jobs->find("length_us"))
		host.plan_jobs(rl, c.id, host.now() + 1000 * c.jobs->number<u32>("first_us", 0),
			       1000 * u64(c.jobs->at("length_us").number<u32>()),
			       1000 * u64(c.jobs->number<u32>("every_us", 0)), c.jobs->number<u64>("count", NEVER));
}

void DriverPart::submit(Runlist &rl, Phys base, u32 length)
{
	const Traits &traits = gpu_.profile().traits;
	unsigned id = rl.info.id;
	if (traits.runlist_readback) {
		gpu_.poke_register(0x2270, u32(put_bits(27, 0, base.addr >> 12) | put_bits(29, 28, unsigned(base.ap))));
		gpu_.poke_register(0x2274, u32(put_bits(15, 0, length) | put_bits(23, 20, id)));
		return;
	}
	u32 block = traits.pfifo ? 0x2b00 + 16 * id : rl.info.pri_base + 0x80;
	gpu_.poke_register(block, u32((base.addr & bit_mask(31, traits.submit_shift)) | unsigned(base.ap)));
	gpu_.poke_register(block + 4, u32(base.addr >> 32));
	gpu_.poke_register(block + 8, length);
}

} // namespace emu
