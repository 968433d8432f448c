// SPDX-License-Identifier: GPL-2.0
// Decodes runlist entries the way Host does; formats and sources in runlist_walk.hpp.
#include "model/runlist_walk.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// DOC ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_INTR_BAD_TSG_CODE_*
enum BadTsg : unsigned { ZERO_LENGTH = 1, TOO_LONG = 2, EXPECTED_CHANNEL = 4, EXPECTED_TSG = 5 };

struct RunlistEntry {
	bool tsg;
	u32 id, length, timeout, scale;
	unsigned runqueue;
	Phys inst, userd;
};

RunlistEntry decode_8_bytes(u64 raw, u32 id_mask)
{
	u32 w0 = u32(raw);
	RunlistEntry e{};
	e.tsg = get_bit(w0, 13);
	e.id = w0 & id_mask;
	e.scale = get_bits(w0, 17, 14);
	e.timeout = get_bits(w0, 25, 18);
	e.length = get_bits(w0, 31, 26);
	e.runqueue = e.tsg ? 0 : get_bit(w0, 14);
	return e;
}

RunlistEntry decode_16_bytes(const u32 w[4], u32 id_mask)
{
	RunlistEntry e{};
	e.tsg = get_bit(w[0], 0);
	e.id = w[2] & id_mask;
	if (e.tsg) {
		e.scale = get_bits(w[0], 19, 16);
		e.timeout = get_bits(w[0], 31, 24);
		e.length = get_bits(w[1], 7, 0);
	} else {
		e.runqueue = get_bit(w[0], 1);
		e.userd = {Aperture(get_bits(w[0], 7, 6)), u64(get_bits(w[1], 7, 0)) << 32 | (w[0] & bit_mask(31, 9))};
		e.inst = {Aperture(get_bits(w[0], 5, 4)), u64(w[3]) << 32 | (w[2] & bit_mask(31, 12))};
	}
	return e;
}

} // namespace

WalkedList walk_runlist(const Memories &mem, Phys base, u32 length, unsigned entry_bytes, u32 id_mask)
{
	WalkedList out;
	std::vector<u8> raw(size_t(length) * entry_bytes);
	if (raw.empty() || !mem.read(base, raw.data(), raw.size()))
		return out;

	u32 expect = 0; // channels that the open TSG still lacks
	for (u32 i = 0; i < length; i++) {
		RunlistEntry e;
		if (entry_bytes == 8) {
			u64 w;
			std::memcpy(&w, &raw[size_t(i) * 8], 8);
			e = decode_8_bytes(w, id_mask);
		} else {
			u32 w[4];
			std::memcpy(w, &raw[size_t(i) * 16], 16);
			e = decode_16_bytes(w, id_mask);
		}
		if (e.tsg) {
			if (expect) {
				out.error = EXPECTED_CHANNEL;
				out.tsgs.pop_back();
				return out;
			}
			if (!e.length || e.length > (entry_bytes == 8 ? 32 : 128)) {
				out.error = e.length ? TOO_LONG : ZERO_LENGTH;
				return out;
			}
			ListTsg t;
			t.id = e.id, t.timeout = e.timeout, t.scale = e.scale, t.entry = i;
			out.tsgs.push_back(std::move(t));
			expect = e.length;
			continue;
		}
		if (!expect) {
			if (entry_bytes == 16) { // from Volta on a channel must be inside a TSG
				out.error = EXPECTED_TSG;
				return out;
			}
			ListTsg t; // a bare channel; its time slice is in RAMFC, here always the reset value
			t.id = e.id, t.bare = true, t.timeout = 128, t.scale = 3, t.entry = i;
			out.tsgs.push_back(std::move(t));
			expect = 1;
		}
		out.tsgs.back().channels.push_back({e.id, e.runqueue, e.inst, e.userd});
		expect--;
	}
	if (expect) {
		out.error = EXPECTED_CHANNEL;
		out.tsgs.pop_back();
	}
	return out;
}

} // namespace emu
