// SPDX-License-Identifier: GPL-2.0
// The work of channels; see work.hpp.
#include "model/work.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// Nothing published says how long methods and copies take: assumed.
constexpr u64 METHOD_NS = 50, FETCH_NS = 500, BYTES_PER_NS = 8;

// Words of RAMFC and of USERD
constexpr u32 RAMFC_GP_PUT = 0, RAMFC_USERD = 2, RAMFC_GP_GET = 5, RAMFC_PB_GET = 6, RAMFC_PB_TOP_LEVEL_GET = 8,
	      RAMFC_REF = 10, RAMFC_GP_BASE = 18, RAMFC_PB_PUT = 23; // the PB ones: and the next word
constexpr u32 USERD_PUT = 16, USERD_GET = 17, USERD_REF = 18, USERD_PUT_HI = 19, USERD_TOP_LEVEL_GET = 22,
	      USERD_TOP_LEVEL_GET_HI = 23, USERD_GET_HI = 24, USERD_GP_GET = 34, USERD_GP_PUT = 35;
constexpr u64 TOP_LEVEL_GET_VALID = u64{1} << 63; // bit 31 of HI

constexpr u64 BYTES_PER_COST = 256; // of a copy

Phys word_of(Phys base, u32 word)
{
	return {base.ap, base.addr + 4 * word};
}

} // namespace

Work::State *Work::find(u32 chid, Phys inst)
{
	auto at = channels_.find(chid);
	if (at != channels_.end())
		return &at->second;
	// USERD 31:9 and HI 7:0, TARGET 1:0; GP_BASE 31:3, HI OFFSET 7:0, LIMIT2 20:16
	u32 userd = mem_.rd32(word_of(inst, RAMFC_USERD)), userd_hi = mem_.rd32(word_of(inst, RAMFC_USERD + 1));
	u32 base = mem_.rd32(word_of(inst, RAMFC_GP_BASE)), base_hi = mem_.rd32(word_of(inst, RAMFC_GP_BASE + 1));
	if (userd == FB_ACK_TIMEOUT || (!base && !base_hi))
		return nullptr;
	State s;
	s.userd = {Aperture(get_bits(userd, 1, 0)), u64(get_bits(userd_hi, 7, 0)) << 32 | (userd & bit_mask(31, 9))};
	if (auto named = userds_.find(chid); named != userds_.end())
		s.userd = named->second;
	s.gp_base = u64(get_bits(base_hi, 7, 0)) << 32 | (base & bit_mask(31, 3));
	s.gp_entries = 1u << get_bits(base_hi, 20, 16);
	s.gp_get = mem_.rd32(word_of(inst, RAMFC_GP_GET)) % s.gp_entries;
	return &(channels_[chid] = s);
}

bool Work::waits_for_semaphore(u32 chid) const
{
	auto at = channels_.find(chid);
	return at != channels_.end() && at->second.acquiring.has_value();
}

bool Work::has_work(u32 chid, Phys inst)
{
	State *s = find(chid, inst);
	if (!s)
		return false;
	if (s->acquiring) {
		VirtualMemory space{mem_, address_space(mem_, profile_.traits.pages, inst)};
		u64 value = 0; // a fault ends the waiting, too
		return space.read(s->semaphore, &value, s->acquiring->wide ? 8 : 4) ||
		       is_acquired(*s->acquiring, value, s->payload);
	}
	return s->copy.is_busy() || s->pb_get < s->pb_end ||
	       mem_.rd32(word_of(s->userd, USERD_GP_PUT)) % s->gp_entries != s->gp_get;
}

// What a driver looks at, in USERD and RAMFC. nouveau waits for GET before it begins its pushbuffer anew.
void Work::save(const State &s, Phys inst)
{
	auto write = [&](Phys base, u32 low, u32 high, u64 value) {
		mem_.wr32(word_of(base, low), u32(value));
		mem_.wr32(word_of(base, high), u32(value >> 32));
	};
	write(s.userd, USERD_GET, USERD_GET_HI, s.pb_get);
	write(s.userd, USERD_PUT, USERD_PUT_HI, s.pb_end);
	write(inst, RAMFC_PB_GET, RAMFC_PB_GET + 1, s.pb_get);
	write(inst, RAMFC_PB_PUT, RAMFC_PB_PUT + 1, s.pb_end);
	if (!s.subroutine) {
		write(s.userd, USERD_TOP_LEVEL_GET, USERD_TOP_LEVEL_GET_HI, s.pb_get | TOP_LEVEL_GET_VALID);
		write(inst, RAMFC_PB_TOP_LEVEL_GET, RAMFC_PB_TOP_LEVEL_GET + 1, s.pb_get | TOP_LEVEL_GET_VALID);
	}
	mem_.wr32(word_of(s.userd, USERD_GP_GET), s.gp_get);
	mem_.wr32(word_of(inst, RAMFC_GP_GET), s.gp_get);
	mem_.wr32(word_of(inst, RAMFC_GP_PUT), mem_.rd32(word_of(s.userd, USERD_GP_PUT)));
}

// GP_ENTRY0 GET 31:2; ENTRY1 GET_HI 7:0, LEVEL 9:9 (1: SUBROUTINE), LENGTH 30:10 in words, 0 for a control entry, which
// does nothing here.
bool Work::fetch_entry(State &s, const VirtualMemory &space)
{
	u32 entry[2];
	if (space.read(s.gp_base + 8 * u64(s.gp_get), entry, 8))
		return false;
	s.pb_get = u64(get_bits(entry[1], 7, 0)) << 32 | (entry[0] & ~3u);
	s.pb_end = s.pb_get + 4 * get_bits(entry[1], 30, 10);
	s.subroutine = get_bits(entry[1], 9, 9);
	s.left = 0;
	s.gp_get = (s.gp_get + 1) % s.gp_entries;
	counts_.entries++;
	return true;
}

Work::Step Work::run(u32 chid, Phys inst, u64 now)
{
	State *s = find(chid, inst);
	if (!s)
		return {};
	u64 get = s->pb_get;
	u32 entry = s->gp_get;
	Step step = next(*s, inst, now);
	if (s->pb_get != get || s->gp_get != entry)
		save(*s, inst);
	counts_.faults += step.fault.has_value();
	return step;
}

Work::Step Work::next(State &state, Phys inst, u64 now)
{
	State *s = &state;
	VirtualMemory space{mem_, address_space(mem_, profile_.traits.pages, inst)};
	if (s->acquiring)
		return acquire(*s, *s->acquiring, space);
	if (s->copy.is_busy())
		return count_copy(s->copy.go_on(space, now));
	if (s->pb_get >= s->pb_end) {
		u64 va = s->gp_base + 8 * u64(s->gp_get);
		if (!fetch_entry(*s, space))
			return {.fault = WorkFault{{va, false}, true}};
		return {.ns = FETCH_NS};
	}
	u32 word;
	if (auto fault = space.read(s->pb_get, &word, 4))
		return {.fault = WorkFault{*fault, true}};
	s->pb_get += 4;
	if (s->left) {
		s->left--;
		Step step = execute(*s, inst, word, space, now);
		if (s->increments)
			s->method += 4;
		if (s->once)
			s->increments = false;
		return step;
	}
	// header: SEC_OP 31:29, COUNT 28:16, SUBCHANNEL 15:13, ADDRESS 11:0 in words; the old ones COUNT 28:18, ADDRESS 12:2
	unsigned op = get_bits(word, 31, 29);
	bool old = op == 0 || op == 2;
	s->subchannel = get_bits(word, 15, 13);
	s->method = old ? word & bit_mask(12, 2) : get_bits(word, 11, 0) * 4;
	s->left = old ? get_bits(word, 28, 18) : get_bits(word, 28, 16);
	s->once = op == 5;
	s->increments = op == 0 || op == 1 || op == 5;
	if (op == 0 && get_bits(word, 17, 16)) { // subdevice masks: there is one device
		s->left = 0;
	} else if (op == 4) { // IMMD_DATA: the count is the word
		s->left = 0;
		return execute(*s, inst, get_bits(word, 28, 16), space, now);
	} else if (op == 7) { // END_PB_SEGMENT
		s->left = 0;
		s->pb_get = s->pb_end;
	}
	return {.ns = METHOD_NS};
}

void Work::note_ignored(u32 number, u32 method)
{
	auto at = ignored_.find({number, method});
	if (at != ignored_.end())
		at->second++;
	else if (ignored_.size() < IGNORED_LIMIT)
		ignored_[{number, method}] = 1;
	else
		counts_.ignored_unlisted++;
}

Work::Step Work::execute(State &s, Phys inst, u32 data, const VirtualMemory &space, u64 now)
{
	counts_.methods++;
	if (s.method < 0x100)
		return host_method(s, inst, data, space, now);
	u32 number = s.classes[s.subchannel];
	if (!CopyEngine::is_class(number)) {
		note_ignored(number, s.method);
		return {.ns = METHOD_NS};
	}
	CopyEngine::Result r = s.copy.method(s.method, data, space, now);
	if (r.ignored)
		note_ignored(number, s.method);
	return count_copy(r);
}

Work::Step Work::count_copy(const CopyEngine::Result &r)
{
	counts_.copied_bytes += r.bytes;
	Step step{.ns = METHOD_NS + r.bytes / BYTES_PER_NS, .cost = 1 + r.lines + r.bytes / BYTES_PER_COST};
	if (r.fault)
		step.fault = WorkFault{*r.fault, false};
	return step;
}

namespace {

void set_low(u64 &v, u32 word)
{
	v = (v & ~u64{0xffffffff}) | word;
}

void set_high(u64 &v, u32 word)
{
	v = (v & 0xffffffff) | u64(word) << 32;
}

} // namespace

Work::Step Work::host_method(State &s, Phys inst, u32 data, const VirtualMemory &space, u64 now)
{
	Step step{.ns = METHOD_NS};
	switch (s.method) {
	case 0x00: s.classes[s.subchannel] = get_bits(data, 15, 0); return step; // SET_OBJECT NVCLASS
	case 0x08: return step;                                                  // NOP
	case 0x10: set_high(s.semaphore, data & 0xff); return step;              // SEMAPHOREA to D
	case 0x14: set_low(s.semaphore, data & ~3u); return step;
	case 0x18: s.payload = data; return step;
	case 0x1c: return semaphore(s, decode_semaphored(data), space, now);
	case 0x20: step.interrupt = true; return step; // NON_STALL_INTERRUPT
	case 0x24: // FB_FLUSH, MEM_OP_A to D: memory is written at once, there is no TLB
	case 0x28:
	case 0x2c:
	case 0x30:
	case 0x34: return step;
	case 0x50: // SET_REFERENCE
		mem_.wr32(word_of(s.userd, USERD_REF), data);
		mem_.wr32(word_of(inst, RAMFC_REF), data);
		return step;
	case 0x78: return step; // WFI: each method here waits for the one before
	case 0x80:              // YIELD OP 1:0
		switch (get_bits(data, 1, 0)) {
		case 0: return step;
		case 2: step.yield = Yield::Timeslice; return step;
		case 3: step.yield = Yield::Channel; return step;
		}
		break; // 1, PBDMA_TIMESLICE up to Pascal: nothing published says what it does
	}
	if (profile_.traits.host_volta)
		switch (s.method) {
		case 0x5c: set_low(s.semaphore, data & ~3u); return step; // SEM_ADDR_LO to SEM_EXECUTE
		case 0x60: set_high(s.semaphore, data & 0xff); return step;
		case 0x64: set_low(s.payload, data); return step;
		case 0x68: set_high(s.payload, data); return step;
		case 0x6c: {
			auto op = decode_sem_execute(data);
			if (op && !op->is_aligned(s.semaphore))
				op = std::nullopt;
			return semaphore(s, op, space, now);
		}
		}
	note_ignored(0, s.method);
	return step;
}

// op: none where hardware would stop the channel with NV_PPBDMA_INTR_0_SEMAPHORE.
Work::Step Work::semaphore(State &s, std::optional<SemaphoreOperation> op, const VirtualMemory &space, u64 now)
{
	Step step{.ns = METHOD_NS};
	if (!op) {
		note_ignored(0, s.method);
		return step;
	}
	if (op->acquires())
		return acquire(s, *op, space);
	if (auto fault = release_semaphore(space, s.semaphore, *op, s.payload, now))
		step.fault = WorkFault{*fault, true};
	counts_.releases++;
	return step;
}

Work::Step Work::acquire(State &s, SemaphoreOperation op, const VirtualMemory &space)
{
	Step step{.ns = METHOD_NS};
	u64 value = 0;
	s.acquiring = std::nullopt;
	if (auto fault = space.read(s.semaphore, &value, op.wide ? 8 : 4))
		step.fault = WorkFault{*fault, true};
	else if (is_acquired(op, value, s.payload))
		counts_.acquires++;
	else
		s.acquiring = op;
	return step;
}

} // namespace emu
