// SPDX-License-Identifier: GPL-2.0
// Gpu: making the units, sending each access to the one that owns the address, counting and logging it.
#include "model/gpu.hpp"

#include "model/units.hpp"

#include <algorithm>
#include <chrono>

namespace emu {

namespace {

constexpr u64 BAR0_SIZE = 16u << 20;
constexpr u32 PRAMIN = 0x700000, PRAMIN_SIZE = 0x100000;
constexpr u64 SEMAPHORE_POLL_NS = 1'000'000; // the machine may release one in its own memory
constexpr size_t LOG_LIMIT = 1u << 20, UNMODELLED_LIMIT = 4096;

u64 clock_ns()
{
	using namespace std::chrono;
	return u64(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

} // namespace

Gpu::Gpu(const nlohmann::json &profile, const std::string &file)
	: profile_(profile, file), mem_(profile_.memory_bytes, profile_.unified),
	  units_(std::make_unique<GpuUnits>(profile_, mem_)), pages_(BAR0_SIZE >> 12)
{
	for (auto &unit : units_->all)
		for (const Range &r : unit->ranges())
			for (u32 page = r.base >> 12; page <= (r.base + r.size - 1) >> 12; page++)
				pages_.at(page).push_back({unit.get(), r.base, r.size});
}

Gpu::~Gpu() = default;

void Gpu::reset()
{
	host().reset();
	for (auto &unit : units_->all)
		unit->reset();
}

Host &Gpu::host()
{
	return units_->host;
}

Bus &Gpu::bus()
{
	return *units_->bus;
}

u64 Gpu::now() const
{
	return units_->host.now();
}

u64 Gpu::next_event() const
{
	const Host &h = units_->host;
	u64 alarm = units_->alarm ? units_->alarm->next_event() : NEVER;
	return std::min({h.next_event(), alarm, h.waits_for_semaphore() ? h.now() + SEMAPHORE_POLL_NS : NEVER});
}

bool Gpu::interrupt_raised() const
{
	return (units_->interrupts && units_->interrupts->raised()) || (units_->vectors && units_->vectors->raised());
}

void Gpu::real_time(bool on)
{
	real_time_ = on;
	if (on)
		real_base_ = clock_ns() - now();
}

void Gpu::advance(u64 ns)
{
	units_->host.advance(now() + ns);
}

void Gpu::tick(u64 ns)
{
	units_->host.advance(real_time_ ? clock_ns() - real_base_ : now() + ns);
}

u32 Gpu::register_read(u32 off, bool *known)
{
	u32 v = 0;
	*known = true;
	for (const Slot &s : pages_[off >> 12])
		if (off - s.base < s.size && s.unit->read(off, v))
			return v;
	*known = false;
	return NO_CLIENT;
}

bool Gpu::register_write(u32 off, u32 v)
{
	for (const Slot &s : pages_[off >> 12])
		if (off - s.base < s.size && s.unit->write(off, v))
			return true;
	return false;
}

u32 Gpu::peek_register(u32 off)
{
	bool known;
	return register_read(off & ~3u, &known);
}

void Gpu::poke_register(u32 off, u32 v)
{
	register_write(off & ~3u, v);
}

namespace {

unsigned width_index(unsigned size)
{
	return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

u64 width_mask(unsigned size)
{
	return size >= 8 ? ~0ull : (1ull << (8 * size)) - 1;
}

Counts::Region region_of(int bar, u64 off)
{
	if (bar == 0)
		return off - PRAMIN < PRAMIN_SIZE ? Counts::Pramin : Counts::Bar0;
	return bar == 1 ? Counts::Bar1 : Counts::Bar2;
}

} // namespace

u64 Gpu::read(int bar, u64 off, unsigned size)
{
	tick(access_ns_);
	counts_.reads[width_index(size)]++;
	Counts::Region region = region_of(bar, off);
	counts_.region_reads[region]++;

	u64 v;
	bool known = true;
	if (faults_.all_ones || asleep_ || off + size > profile_.bar_size[bar]) {
		v = ~0ull;
	} else if (region == Counts::Pramin) {
		on_memory_read(0, off - PRAMIN);
		v = units_->bus->pramin_read(u32(off - PRAMIN), size);
		if (faults_.halves)
			v &= 0xffffffff;
	} else if (bar != 0) {
		on_memory_read(bar, off);
		v = units_->bus->bar_read(bar, off, size);
	} else {
		u32 reg = u32(off) & ~3u;
		auto bad = faults_.bad_reads.find(reg);
		v = bad != faults_.bad_reads.end() ? bad->second : register_read(reg, &known);
		v >>= 8 * (off & 3); // a wider access gets zeros above: registers are 32 bits
		if (size != 4)
			counts_.wide_register_accesses++;
		if (!known) {
			counts_.unknown_reads++;
			if (Unmodelled *u = note_unmodelled(u32(off)))
				u->reads++;
		}
	}
	v &= width_mask(size);
	if (log_on_ && log_.size() < LOG_LIMIT)
		log_.push_back({false, bar, off, size, v, !known});
	return v;
}

void Gpu::write(int bar, u64 off, unsigned size, u64 v)
{
	tick(access_ns_);
	v &= width_mask(size);
	counts_.writes[width_index(size)]++;
	Counts::Region region = region_of(bar, off);
	counts_.region_writes[region]++;

	bool known = true, ignored = false;
	if (faults_.all_ones || asleep_ || off + size > profile_.bar_size[bar]) {
		// gone or asleep: nothing arrives
	} else if (region == Counts::Pramin) {
		units_->bus->pramin_write(u32(off - PRAMIN), size, v);
	} else if (bar != 0) {
		units_->bus->bar_write(bar, off, size, v);
	} else if (size == 4 && !(off & 3)) {
		known = register_write(u32(off), u32(v));
		if (!known)
			counts_.unknown_writes++;
	} else {
		counts_.wide_register_accesses++; // registers take whole words only
		ignored = true;
	}
	if (!known || ignored)
		if (Unmodelled *u = note_unmodelled(u32(off)))
			u->writes++, u->written = v;
	if (log_on_ && log_.size() < LOG_LIMIT)
		log_.push_back({true, bar, off, size, v, !known});
}

Unmodelled *Gpu::note_unmodelled(u32 offset)
{
	auto at = unmodelled_.find(offset);
	if (at == unmodelled_.end() && unmodelled_.size() >= UNMODELLED_LIMIT)
		return nullptr;
	return at == unmodelled_.end() ? &unmodelled_[offset] : &at->second;
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
		Runlist &rl = *host().runlist(e.runlist);
		if (rl.phase != Phase::Invalid && rl.phase != Phase::Load && (rl.now.slots >> e.rleng & 1)) {
			if (Tenant t = rl.now.on_engine(e.rleng); !t.bare)
				r.tsg = t.id;
			for (int q = 1; q >= 0; q--)
				if (rl.now.chid[q] >= 0 && host().channel(rl, rl.now.chid[q])->engine_slot == e.rleng)
					r.channel = rl.now.chid[q];
		}
		out.push_back(r);
	}
	return out;
}

} // namespace emu
