// SPDX-License-Identifier: GPL-2.0
// Where a scenario's structures are placed, and BAR1 and BAR2 as a driver sets them up. As RM does, they lie high in
// video memory (assumed: upper half); in system memory they start where the window that was set aside starts.
#include "driver/loader.hpp"

#include "model/bits.hpp"

#include <stdexcept>

namespace emu {

namespace {

constexpr u64 BLOCK = 2u << 20;

} // namespace

Phys DriverPart::allocate(Aperture ap, u64 bytes, u64 align)
{
	bool sys = gpu_.memories().in_system(ap);
	Heap &heap = sys ? heap_sys_ : heap_vid_;
	u64 addr = (heap.next + align - 1) & ~(align - 1);
	if (addr + bytes > heap.end)
		throw std::runtime_error(document_ + (sys ? ": does not fit the system memory set aside for the GPU"
							  : ": does not fit the GPU's memory"));
	heap.next = addr + bytes;
	if (!gpu_.memories().clear({ap, addr}, bytes))
		throw std::runtime_error(document_ + ": no memory there");
	return {ap, addr};
}

namespace {

const char *const KIND_KEYS[] = {"runlists", "instances", "tables", "contexts"};

// Nothing: video memory.
bool in_system(const std::optional<Entry> &memory)
{
	if (!memory)
		return false;
	if (memory->text() != "vid" && memory->text() != "sys")
		memory->refuse("memory is \"vid\" or \"sys\", not " + memory->text());
	return memory->text() == "sys";
}

// "memory": one string for all, or an object by kind.
bool wants_system(const Entry &scenario, int kind)
{
	auto m = scenario.find("memory");
	return in_system(m && !m->value().is_string() ? m->find(KIND_KEYS[kind]) : m);
}

} // namespace

Memories::Window DriverPart::find_window(const Entry &scenario) const
{
	auto w = scenario.find("sysmem");
	if (!w)
		return gpu_.memories().window;
	u64 base = w->at("base").number();
	return {w->number("bus", base), base, w->at("bytes").number()};
}

bool DriverPart::needs_system_memory(const Entry &scenario) const
{
	bool uses = gpu_.profile().unified;
	for (int k = 0; k < KINDS; k++)
		uses |= wants_system(scenario, k);
	if (!uses)
		return false;
	Memories::Window w = find_window(scenario);
	SysMem *sys = gpu_.memories().sys;
	return !sys || !w.bytes || !sys->at(w.base, w.bytes);
}

void DriverPart::place_memory(const Entry &scenario)
{
	const Profile &profile = gpu_.profile();
	Memories &mem = gpu_.memories();
	std::string named = scenario.text("aperture", profile.vid_means_sysmem ? "vid" : "coherent");
	if (named == "coherent")
		sys_ap_ = Aperture::SysCoherent;
	else if (named == "noncoherent")
		sys_ap_ = Aperture::SysNoncoherent;
	else if (named == "vid" && profile.unified)
		sys_ap_ = Aperture::Vid;
	else
		scenario.at("aperture").refuse("cannot be " + named);
	for (int k = 0; k < KINDS; k++)
		ap_[k] = profile.unified || wants_system(scenario, k) ? sys_ap_ : Aperture::Vid;

	mem.window = find_window(scenario);
	if (needs_system_memory(scenario))
		scenario.refuse("needs system memory: none is shared, or none is set aside (\"sysmem\")");
	u64 half = profile.unified ? 0 : (profile.memory_bytes / 2) & ~(BLOCK - 1);
	heap_vid_ = {half, profile.unified ? 0 : profile.memory_bytes};
	heap_sys_ = {mem.window.bus, mem.window.bus + mem.window.bytes};
	region_[0].first = heap_vid_.next;
	region_[1].first = heap_sys_.next;
}

PageFormat DriverPart::page_format(const Entry &scenario) const
{
	PageTables pages = gpu_.profile().traits.pages;
	PageFormat usual = usual_format(pages);
	std::string wanted = scenario.text("page_tables", ""), big = scenario.text("big_page", "");
	if (wanted.empty() && big.empty())
		return usual;
	bool v1 = wanted == "v1" || (wanted.empty() && usual.version == PteVersion::V1);
	if (v1) {
		unsigned shift = big == "128k" || (big.empty() && pages == PageTables::V1Big128) ? 17 : 16;
		if (auto f = v1_format(pages, shift))
			return *f;
	} else if (wanted == "v2" && big != "128k" && usual.version == PteVersion::V2) {
		return usual;
	}
	scenario.at(wanted.empty() ? "big_page" : "page_tables")
		.refuse(gpu_.profile().name + " has no such page tables");
}

// BAR1 and BAR2: instance block and page tables, virtual addresses from 0. The values of "bar1" and "bar2" are in
// emulator/README.md.
void DriverPart::build_bars(const Entry &scenario)
{
	region_[0].end = heap_vid_.next;
	region_[1].end = heap_sys_.next;
	build_bar(1, scenario.find("bar1"));
	build_bar(2, scenario.find("bar2"));
}

void DriverPart::map_entry(AddressSpace &space, const Entry &entry)
{
	static const std::pair<const char *, unsigned> sizes[] = {{"4k", 12}, {"64k", 16},  {"128k", 17},
								  {"2m", 21}, {"512m", 29}, {"256g", 38}};
	std::string size = entry.text("page", "4k");
	unsigned shift = 0;
	for (const auto &[name, s] : sizes)
		if (size == name || (size == "big" && s == space.format().big_shift))
			shift = s;
	if (!shift)
		entry.at("page").refuse("unknown page size " + size);
	if (!space.has_page(shift)) {
		if (entry.flag("optional", false))
			return;
		entry.refuse(gpu_.profile().name + " has no pages of " + size);
	}
	Phys target{in_system(entry.find("memory")) || gpu_.memories().unified() ? sys_ap_ : Aperture::Vid,
		    entry.at("phys").number()};
	u64 va = entry.at("va").number();
	if ((va | target.addr) & bit_mask(shift - 1, 0))
		entry.refuse("va and phys must be multiples of the page, " + size);
	for (u64 n = entry.number<u64>("pages", 1); n; n--, va += 1ull << shift, target.addr += 1ull << shift)
		space.map(va, target, shift);
}

namespace {

const char *default_contents(int bar)
{
	return bar == 1 ? "none" : "instmem";
}

} // namespace

void DriverPart::fill_bar(AddressSpace &space, int bar, const std::optional<Entry> &contents)
{
	if (contents && contents->value().is_object()) {
		for (const Entry &entry : contents->at("map").items())
			map_entry(space, entry);
		return;
	}
	std::string what = contents ? contents->text() : default_contents(bar);
	if (what == "none")
		return;
	if (what != "instmem" && what != "all")
		contents->refuse("cannot be " + what);
	u64 va = 0, size = gpu_.profile().bar_size[bar], page = 1ull << space.format().big_shift;
	const Aperture apertures[2] = {Aperture::Vid, sys_ap_};
	for (int sys = 0; sys < 2; sys++) {
		const Region &r = region_[sys];
		u64 last = what == "all" ? r.end : r.last;
		for (u64 addr = r.first; addr < last && va < size; addr += page, va += page)
			space.map(va, {apertures[sys], addr}, space.format().big_shift);
	}
}

void DriverPart::build_bar(int bar, const std::optional<Entry> &contents)
{
	const Profile &profile = gpu_.profile();
	if (!profile.bar_size[bar]) // a SoC has no BAR2
		return;
	Phys inst;
	bool is_virtual = !contents || contents->value() != "physical";
	if (is_virtual) {
		AddressSpace space(gpu_.memories(), format_, [this](u64 n, u64 a) { return allocate(Tables, n, a); });
		fill_bar(space, bar, contents);
		ChannelPlan c;
		build_instance(space, c, 0, {{0, &space}});
		inst = c.inst;
	}
	u32 older = u32(put_bits(27, 0, inst.addr >> 12) | put_bits(29, 28, unsigned(inst.ap)) |
			put_bits(31, 31, is_virtual));
	switch (profile.traits.bars) {
	case BarBlocks::Pbus: gpu_.poke_register(bar == 1 ? 0x1704 : 0x1714, older); break;
	case BarBlocks::Vf: gpu_.poke_register(bar == 1 ? 0xb80f40 : 0xb80f48, older); break;
	case BarBlocks::VfWide:
		gpu_.poke_register(bar == 1 ? 0xb80f60 : 0xb80f70,
				   u32(put_bits(9, 9, is_virtual) | put_bits(11, 10, unsigned(inst.ap)) |
				       (inst.addr & bit_mask(31, 12))));
		gpu_.poke_register(bar == 1 ? 0xb80f64 : 0xb80f74, u32(inst.addr >> 32));
		break;
	}
}

} // namespace emu
