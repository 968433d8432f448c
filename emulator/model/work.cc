// SPDX-License-Identifier: GPL-2.0
// The work of channels; see work.hpp.
#include "model/work.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// Nothing published says how long methods and copies take: assumed.
constexpr u64 METHOD_NS = 50, FETCH_NS = 500, BYTES_PER_NS = 8;

// Words of RAMFC and of USERD
constexpr u32 RAMFC_GP_PUT = 0, RAMFC_USERD = 2, RAMFC_GP_GET = 5, RAMFC_GP_BASE = 18;
constexpr u32 USERD_GP_GET = 34, USERD_GP_PUT = 35;

Phys word_of(Phys base, u32 word)
{
	return {base.ap, base.addr + 4 * word};
}

// SEMAPHORED OPERATION 4:0 (1 acquire, 2 release, 4 greater or equal, 8 and), ACQUIRE_SWITCH 12, RELEASE_SIZE 24 (1:
// one word). SEM_EXECUTE has its own numbers, which are brought to these.
constexpr u32 ACQUIRE = 1, RELEASE = 2, ACQ_GEQ = 4, ACQ_AND = 8, REDUCTION = 16;

u32 old_operation(u32 execute)
{
	static constexpr u32 codes[8] = {ACQUIRE, RELEASE, ACQ_GEQ, ACQ_GEQ, ACQ_AND, 0, REDUCTION, 0};
	u32 size = get_bit(execute, 25) ? 0 : 1u << 24; // RELEASE_TIMESTAMP: all four words
	return codes[execute & 7] | size;
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
	s.gp_base = u64(get_bits(base_hi, 7, 0)) << 32 | (base & bit_mask(31, 3));
	s.gp_entries = 1u << get_bits(base_hi, 20, 16);
	s.gp_get = mem_.rd32(word_of(inst, RAMFC_GP_GET));
	return &(channels_[chid] = s);
}

bool Work::acquired(const State &s, u32 value)
{
	u32 payload = s.semaphore[2];
	switch (s.semaphore[3] & 0x1f) {
	case ACQ_GEQ: return int32_t(value - payload) >= 0; // circular: the difference is compared
	case ACQ_AND: return (value & payload) != 0;
	default: return value == payload;
	}
}

bool Work::acquire_holds(const State &s, const VirtualMemory &space) const
{
	u64 va = u64(s.semaphore[0] & 0xff) << 32 | (s.semaphore[1] & ~3u), where;
	u32 value;
	return !space.read(va, &value, 4, &where) || acquired(s, value); // a fault ends the waiting, too
}

bool Work::waits_for_semaphore(u32 chid) const
{
	auto at = channels_.find(chid);
	return at != channels_.end() && at->second.acquiring;
}

bool Work::has_work(u32 chid, Phys inst)
{
	State *s = find(chid, inst);
	if (!s)
		return false;
	if (s->acquiring)
		return acquire_holds(*s, {mem_, address_space(mem_, profile_.traits.pages, inst)});
	return s->pb_get < s->pb_end || mem_.rd32(word_of(s->userd, USERD_GP_PUT)) % s->gp_entries != s->gp_get;
}

// What a driver looks at: GP_GET in USERD and RAMFC.
void Work::save(const State &s, Phys inst)
{
	mem_.wr32(word_of(s.userd, USERD_GP_GET), s.gp_get);
	mem_.wr32(word_of(inst, RAMFC_GP_GET), s.gp_get);
	mem_.wr32(word_of(inst, RAMFC_GP_PUT), mem_.rd32(word_of(s.userd, USERD_GP_PUT)));
}

// GP_ENTRY0 GET 31:2; ENTRY1 GET_HI 7:0, LENGTH 30:10 in words, 0 for a control entry, which does nothing here.
bool Work::fetch_entry(State &s, Phys inst, const VirtualMemory &space)
{
	u32 entry[2];
	u64 where;
	if (!space.read(s.gp_base + 8 * u64(s.gp_get), entry, 8, &where))
		return false;
	s.pb_get = u64(get_bits(entry[1], 7, 0)) << 32 | (entry[0] & ~3u);
	s.pb_end = s.pb_get + 4 * get_bits(entry[1], 30, 10);
	s.left = 0;
	s.gp_get = (s.gp_get + 1) % s.gp_entries;
	counts_.entries++;
	save(s, inst);
	return true;
}

Work::Step Work::run(u32 chid, Phys inst, u64 now)
{
	State *s = find(chid, inst);
	if (!s)
		return {};
	Step step = next(*s, inst, now);
	counts_.faults += step.fault.has_value();
	return step;
}

Work::Step Work::next(State &state, Phys inst, u64 now)
{
	State *s = &state;
	VirtualMemory space{mem_, address_space(mem_, profile_.traits.pages, inst)};
	if (s->acquiring)
		return semaphore(*s, space, now);
	if (s->pb_get >= s->pb_end) {
		u64 va = s->gp_base + 8 * u64(s->gp_get);
		if (!fetch_entry(*s, inst, space))
			return {.fault = WorkFault{va, false, true}};
		return {.ns = FETCH_NS};
	}
	u32 word;
	u64 where;
	if (!space.read(s->pb_get, &word, 4, &where))
		return {.fault = WorkFault{where, false, true}};
	s->pb_get += 4;
	if (s->left) {
		s->left--;
		Step step = execute(*s, word, space, now);
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
		return execute(*s, get_bits(word, 28, 16), space, now);
	} else if (op == 7) { // END_PB_SEGMENT
		s->left = 0;
		s->pb_get = s->pb_end;
	}
	return {.ns = METHOD_NS};
}

Work::Step Work::execute(State &s, u32 data, const VirtualMemory &space, u64 now)
{
	counts_.methods++;
	if (s.method < 0x100)
		return host_method(s, data, space, now);
	u32 number = s.classes[s.subchannel];
	if (!CopyEngine::is_class(number)) {
		ignored_[{number, s.method}]++;
		return {.ns = METHOD_NS};
	}
	CopyEngine::Result r = s.copy.method(s.method, data, space, now);
	if (!r.known)
		ignored_[{number, s.method}]++;
	counts_.copied_bytes += r.bytes;
	Step step{.ns = METHOD_NS + r.bytes / BYTES_PER_NS};
	if (r.fault)
		step.fault = WorkFault{r.fault->first, r.fault->second, false};
	return step;
}

Work::Step Work::host_method(State &s, u32 data, const VirtualMemory &space, u64 now)
{
	Step step{.ns = METHOD_NS};
	switch (s.method) {
	case 0x00: s.classes[s.subchannel] = get_bits(data, 15, 0); break; // SET_OBJECT NVCLASS
	case 0x08: break;                                                  // NOP
	case 0x10: s.semaphore[0] = data; break;                           // SEMAPHOREA to C
	case 0x14: s.semaphore[1] = data; break;
	case 0x18: s.semaphore[2] = data; break;
	case 0x1c: s.semaphore[3] = data; return semaphore(s, space, now);
	case 0x20: step.interrupt = true; break; // NON_STALL_INTERRUPT
	case 0x24:                               // FB_FLUSH, MEM_OP_A to D: memory is written at once, there is no TLB
	case 0x28:
	case 0x2c:
	case 0x30:
	case 0x34: break;
	case 0x5c: s.semaphore[1] = data; break; // SEM_ADDR_LO, SEM_ADDR_HI, SEM_PAYLOAD_LO
	case 0x60: s.semaphore[0] = data; break;
	case 0x64: s.semaphore[2] = data; break;
	case 0x68: break; // SEM_PAYLOAD_HI: 64-bit payloads are not modelled
	case 0x6c: s.semaphore[3] = old_operation(data); return semaphore(s, space, now);
	case 0x78: break; // WFI: each method here waits for the one before
	case 0x80: break; // YIELD: not modelled
	default: ignored_[{0, s.method}]++;
	}
	return step;
}

Work::Step Work::semaphore(State &s, const VirtualMemory &space, u64 now)
{
	Step step{.ns = METHOD_NS};
	u64 va = u64(s.semaphore[0] & 0xff) << 32 | (s.semaphore[1] & ~3u), where;
	u32 operation = s.semaphore[3] & 0x1f;
	if (operation == RELEASE) { // four words: payload, 0, time
		u32 words[4] = {s.semaphore[2], 0, u32(now), u32(now >> 32)};
		if (!space.write(va, words, get_bit(s.semaphore[3], 24) ? 4 : 16, &where))
			step.fault = WorkFault{where, true, true};
		counts_.releases++;
		return step;
	}
	if (operation != ACQUIRE && operation != ACQ_GEQ && operation != ACQ_AND) {
		ignored_[{0, s.method}]++;
		return step;
	}
	u32 value;
	s.acquiring = false;
	if (!space.read(va, &value, 4, &where))
		step.fault = WorkFault{where, false, true};
	else
		s.acquiring = !acquired(s, value);
	counts_.acquires += !s.acquiring && !step.fault;
	return step;
}

} // namespace emu
