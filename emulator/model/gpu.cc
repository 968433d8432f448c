// SPDX-License-Identifier: GPL-2.0
// Gpu: making the units, sending each access to the one that owns the address, counting and logging it.
#include "model/gpu.hpp"

#include "model/bus.hpp"
#include "model/chip_units.hpp"
#include "model/pccsr.hpp"
#include "model/pfifo.hpp"
#include "model/rlram.hpp"
#include "model/turing_runlists.hpp"
#include "driver/loader.hpp"

#include "model/units.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>

namespace emu {

static constexpr uint64_t BAR0_SIZE = 16u << 20;
static constexpr uint32_t PRAMIN = 0x700000, PRAMIN_SIZE = 0x100000;
static constexpr size_t LOG_LIMIT = 1u << 20;

static uint64_t clock_ns()
{
	using namespace std::chrono;
	return uint64_t(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

std::unique_ptr<Gpu> Gpu::create(const nlohmann::json &profile)
{
	return std::unique_ptr<Gpu>(new Gpu(profile));
}

std::unique_ptr<Gpu> Gpu::create_from_file(const std::string &path)
{
	std::ifstream in(path);
	if (!in)
		throw std::runtime_error("cannot read " + path);
	return create(nlohmann::json::parse(in));
}

Gpu::Gpu(const nlohmann::json &profile)
	: profile_(profile), mem_(profile_.memory_bytes, profile_.unified),
	  units_(std::make_unique<GpuUnits>(profile_, mem_)), pages_(BAR0_SIZE >> 12)
{
	for (auto &u : units_->all)
		for (const Range &r : u->ranges())
			for (uint32_t p = r.base >> 12; p <= (r.base + r.size - 1) >> 12; p++)
				pages_.at(p).push_back({u.get(), r.base, r.size});
}

Gpu::~Gpu() = default;

Host &Gpu::host()
{
	return units_->host;
}

Bus &Gpu::bus()
{
	return *units_->bus;
}

uint64_t Gpu::now() const
{
	return units_->host.now();
}

void Gpu::real_time(bool on)
{
	real_time_ = on;
	if (on)
		real_base_ = clock_ns() - now();
}

void Gpu::advance(uint64_t ns)
{
	units_->host.advance(now() + ns);
}

void Gpu::tick(uint64_t ns)
{
	units_->host.advance(real_time_ ? clock_ns() - real_base_ : now() + ns);
}

uint32_t Gpu::register_read(uint32_t off, bool *known)
{
	uint32_t v = 0;
	*known = true;
	for (const Slot &s : pages_[off >> 12])
		if (off - s.base < s.size && s.unit->read(off, v))
			return v;
	*known = false;
	return NO_CLIENT;
}

bool Gpu::register_write(uint32_t off, uint32_t v)
{
	for (const Slot &s : pages_[off >> 12])
		if (off - s.base < s.size && s.unit->write(off, v))
			return true;
	return false;
}

uint32_t Gpu::peek_register(uint32_t off)
{
	bool known;
	return register_read(off & ~3u, &known);
}

void Gpu::poke_register(uint32_t off, uint32_t v)
{
	register_write(off & ~3u, v);
}

static unsigned width_index(unsigned size)
{
	return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

static uint64_t width_mask(unsigned size)
{
	return size >= 8 ? ~0ull : (1ull << (8 * size)) - 1;
}

uint64_t Gpu::read(int bar, uint64_t off, unsigned size)
{
	tick(access_ns_);
	counts_.reads[width_index(size)]++;
	bool pramin = bar == 0 && off - PRAMIN < PRAMIN_SIZE;
	Counts::Region region = pramin     ? Counts::Pramin
				: bar == 0 ? Counts::Bar0
				: bar == 1 ? Counts::Bar1
					   : Counts::Bar2;
	counts_.region_reads[region]++;

	uint64_t v;
	bool known = true;
	if (all_ones_ || asleep_ || off + size > profile_.bar_size[bar]) {
		v = ~0ull;
	} else if (pramin) {
		if (torn_.every)
			torn_check(0, off - PRAMIN);
		v = units_->bus->pramin_read(uint32_t(off - PRAMIN), size);
		if (halves_)
			v &= 0xffffffff;
	} else if (bar != 0) {
		if (torn_.every)
			torn_check(bar, off);
		v = units_->bus->bar_read(bar, off, size);
	} else {
		uint32_t reg = uint32_t(off) & ~3u;
		auto bad = bad_reads_.empty() ? bad_reads_.end() : bad_reads_.find(reg);
		v = bad != bad_reads_.end() ? bad->second : register_read(reg, &known);
		v >>= 8 * (off & 3); // a wider access gets zeros above: registers are 32 bits
		if (size != 4)
			counts_.wide_register_accesses++;
		if (!known)
			counts_.unknown_reads++;
	}
	v &= width_mask(size);
	if (log_on_ && log_.size() < LOG_LIMIT)
		log_.push_back({false, bar, off, size, v, !known});
	return v;
}

void Gpu::write(int bar, uint64_t off, unsigned size, uint64_t v)
{
	tick(access_ns_);
	v &= width_mask(size);
	counts_.writes[width_index(size)]++;
	bool pramin = bar == 0 && off - PRAMIN < PRAMIN_SIZE;
	Counts::Region region = pramin     ? Counts::Pramin
				: bar == 0 ? Counts::Bar0
				: bar == 1 ? Counts::Bar1
					   : Counts::Bar2;
	counts_.region_writes[region]++;

	bool known = true;
	if (all_ones_ || asleep_ || off + size > profile_.bar_size[bar]) {
		// gone or asleep: nothing arrives
	} else if (pramin) {
		units_->bus->pramin_write(uint32_t(off - PRAMIN), size, v);
	} else if (bar != 0) {
		units_->bus->bar_write(bar, off, size, v);
	} else if (size == 4 && !(off & 3)) {
		known = register_write(uint32_t(off), uint32_t(v));
		if (!known)
			counts_.unknown_writes++;
	} else {
		counts_.wide_register_accesses++; // registers take whole words only: ignored
	}
	if (log_on_ && log_.size() < LOG_LIMIT)
		log_.push_back({true, bar, off, size, v, !known});
}

std::vector<Access> Gpu::take_log()
{
	std::vector<Access> out;
	out.swap(log_);
	return out;
}

std::vector<Running> Gpu::running()
{
	std::vector<Running> out;
	for (const auto &e : profile_.engines) {
		if (e.runlist < 0)
			continue;
		Running r{e.name, e.runlist, std::nullopt, std::nullopt};
		const Runlist &rl = *host().runlist(e.runlist);
		if (rl.phase != Phase::Invalid && rl.phase != Phase::Load && (rl.now.slots >> e.rleng & 1)) {
			if (!rl.now.bare)
				r.tsg = rl.now.tsg;
			for (int q = 1; q >= 0; q--)
				if (rl.now.chid[q] >= 0 &&
				    host().channel(const_cast<Runlist &>(rl), rl.now.chid[q])->engine_slot == e.rleng)
					r.channel = rl.now.chid[q];
		}
		out.push_back(r);
	}
	return out;
}

void Gpu::load_scenario(const nlohmann::json &scenario)
{
	DriverPart(*this).load(scenario);
	scenario_ = scenario;
}

bool Gpu::needs_system_memory(const nlohmann::json &scenario) const
{
	if (!DriverPart::uses_system_memory(profile_, scenario))
		return false;
	Memories::Window w = DriverPart::window_of(scenario, mem_.window);
	return !mem_.sys || !w.bytes || !mem_.sys->at(w.base, w.bytes);
}

// Injected fault: every k-th read that falls on the runlist in memory makes the driver move the list. Either it
// submits a reordered copy in another buffer and scribbles over the old one, or it rewrites the list where it is.
void Gpu::torn_check(int bar, uint64_t off)
{
	Runlist *rl = host().runlist(torn_.runlist);
	auto p = bus().target(bar, off);
	uint64_t bytes = rl ? uint64_t(rl->submit_length) * profile_.is.entry_bytes : 0;
	if (!rl || !p || mem_.in_system(p->ap) != mem_.in_system(rl->submit_base.ap) ||
	    p->addr - rl->submit_base.addr >= bytes)
		return;
	if (++torn_.seen % torn_.every == 0)
		tear(torn_.runlist);
}

void Gpu::tear(int runlist)
{
	Runlist &rl = *host().runlist(runlist);
	unsigned entry = profile_.is.entry_bytes;
	std::vector<uint8_t> raw(size_t(rl.submit_length) * entry);
	if (raw.empty() || !mem_.read(rl.submit_base, raw.data(), raw.size()))
		return;
	WalkedList list = walk_runlist(mem_, rl.submit_base, rl.submit_length, entry, 0xfff);
	if (list.tsgs.size() > 1) { // first TSG goes to the end
		size_t first = size_t(list.tsgs[1].entry) * entry;
		std::rotate(raw.begin(), raw.begin() + long(first), raw.end());
	}
	Phys from = rl.submit_base, to = from;
	if (!torn_.in_place) {
		if (!torn_.spare)
			torn_.spare = DriverPart(*this).allocate(from.ap, raw.size(), 0x10000).addr;
		to = {from.ap, torn_.spare};
		torn_.spare = from.addr;
	}
	mem_.write(to, raw.data(), raw.size());
	if (!torn_.in_place) {
		std::vector<uint8_t> junk(raw.size(), 0x5a);
		mem_.write(from, junk.data(), junk.size());
	}
	torn_.times++;
	DriverPart(*this).submit(rl, to, rl.submit_length);
}

} // namespace emu
