// SPDX-License-Identifier: GPL-2.0
// Decodes runlist entries the way Host does; formats and sources in runlist_walk.hpp.
#include "model/runlist_walk.hpp"

#include "model/bits.hpp"

namespace emu {

namespace {

// DOC ampere/ga100/dev_runlist.ref.txt NV_RUNLIST_INTR_BAD_TSG_CODE_*
enum BadTsg : unsigned { ZERO_LENGTH = 1, TOO_LONG = 2, EXPECTED_CHANNEL = 4, EXPECTED_TSG = 5 };

struct Entry {
	bool tsg;
	uint32_t id, length, timeout, scale;
	unsigned runqueue;
	Phys inst;
};

Entry decode8(uint64_t raw, uint32_t id_mask)
{
	uint32_t w0 = uint32_t(raw);
	Entry e{};
	e.tsg = bit(w0, 13);
	e.id = w0 & id_mask;
	e.scale = get(w0, 17, 14);
	e.timeout = get(w0, 25, 18);
	e.length = get(w0, 31, 26);
	e.runqueue = e.tsg ? 0 : bit(w0, 14);
	return e;
}

Entry decode16(const uint32_t w[4], uint32_t id_mask)
{
	Entry e{};
	e.tsg = bit(w[0], 0);
	e.id = w[2] & id_mask;
	if (e.tsg) {
		e.scale = get(w[0], 19, 16);
		e.timeout = get(w[0], 31, 24);
		e.length = get(w[1], 7, 0);
	} else {
		e.runqueue = bit(w[0], 1);
		e.inst = {Aperture(get(w[0], 5, 4)), uint64_t(w[3]) << 32 | (w[2] & mask(31, 12))};
	}
	return e;
}

} // namespace

WalkedList walk_runlist(const Memories &mem, Phys base, uint32_t length, unsigned entry_bytes, uint32_t id_mask)
{
	WalkedList out;
	std::vector<uint8_t> raw(size_t(length) * entry_bytes);
	if (raw.empty() || !mem.read(base, raw.data(), raw.size()))
		return out;

	uint32_t expect = 0; // channels the open TSG still wants
	for (uint32_t i = 0; i < length; i++) {
		Entry e;
		if (entry_bytes == 8) {
			uint64_t w;
			std::memcpy(&w, &raw[size_t(i) * 8], 8);
			e = decode8(w, id_mask);
		} else {
			uint32_t w[4];
			std::memcpy(w, &raw[size_t(i) * 16], 16);
			e = decode16(w, id_mask);
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
			ListTsg t; // a bare channel; its timeslice is in RAMFC, here always the reset value
			t.id = e.id, t.bare = true, t.timeout = 128, t.scale = 3, t.entry = i;
			out.tsgs.push_back(std::move(t));
			expect = 1;
		}
		out.tsgs.back().channels.push_back({e.id, e.runqueue, e.inst});
		expect--;
	}
	if (expect) {
		out.error = EXPECTED_CHANNEL;
		out.tsgs.pop_back();
	}
	return out;
}

} // namespace emu
