// SPDX-License-Identifier: GPL-2.0
// Requests on any hardware: each returns a known error after a bounded time, writes only to registers of Host, of the
// named runlist and of its channels, and writes nothing if the error means that the send_request itself is invalid. Byte 0
// is the send_request, the next four bytes are the id, the next says whether a runlist is named; in half of the inputs for
// chips that do so, the registers of two runlists say where these and their channels are.
// A time slice is note_store in the runlist only. Memory returns new words at each read, so that an entry is rarely the
// same at the second read: only if the input repeats itself.
// Seen failing with a named_runlist() that does not compare the id with the limit, and without the checks of places in
// src/host_ga100.c.
#include "hw/fifo.h"
#include "lists.hpp"

namespace {

fuzz::Gpu gpu;
fuzz::Lists lists;
u32 writes;
bool placed;         // the device says where its runlists are
u64 lowest, highest; // addresses of stored words

bool is_within(u32 off, u32 first, u32 bytes)
{
	return off - first < bytes;
}

// The device says where runlists are: a write is to one of them alone, and to no unit of the whole GPU. Those that are
// checked are PMC to PTOP, the PBDMAs and PRAMIN.
void check_place(u32 off)
{
	const lens_topology &topo = gpu.gpu.topo;
	u32 n = 0;

	FUZZ_CHECK(off >= 0x50000 && off < 0x1000000 && !is_within(off, 0x700000, 0x100000));
	for (u32 i = 0; i < topo.n_runlists; i++) {
		const lens_runlist &rl = topo.runlists[i];
		n += is_within(off, rl.base, 0x400);
		n += is_within(off, rl.chram, 4U * rl.channels);
	}
	FUZZ_CHECK(n == 1);
}

void check_write(u32 off)
{
	const lens_runlist &rl = *lists.rl;

	writes++;
	if (placed)
		check_place(off);
	else if (gpu.gpu.chip->ids_per_runlist)
		FUZZ_CHECK(is_within(off, rl.base, 0x400) || is_within(off, rl.chram, 4U * rl.channels));
	else
		FUZZ_CHECK(is_within(off, 0x2000, 0x2000) ||
			   is_within(off, NV_PCCSR_CHANNEL_INST(0), 8U * rl.channels));
}

void note_store(u64 addr)
{
	lowest = addr < lowest ? addr : lowest;
	highest = addr > highest ? addr : highest;
}

constexpr uint8_t REQUESTS = 10, PREEMPT = 2, SWITCH = 3, RESUBMIT = 5, TIMESLICE = 9;

int send_request(uint8_t which, const lens_ref &ref)
{
	lens_gpu *g = &gpu.gpu;
	int runlist;

	switch (which) {
	case 0: return lens_channel_enable(g, &ref, true, &runlist);
	case 1: return lens_channel_enable(g, &ref, false, &runlist);
	case 2: return lens_tsg_preempt(g, &ref, &runlist);
	case 3: return lens_tsg_switch_to(g, &ref, &runlist);
	case 4: return lens_runlist_preempt(g, ref.id);
	case 5: return lens_runlist_resubmit(g, ref.id);
	case 6: return lens_channel_set_preemption(g, &ref, LENS_PREEMPT_WFI, &runlist);
	case 7: return lens_channel_set_preemption(g, &ref, LENS_PREEMPT_CTA, &runlist);
	case TIMESLICE: return lens_tsg_set_timeslice(g, &ref, gpu.stream.take<u32>() & 0xffffff, &runlist);
	default: return lens_channel_set_preemption(g, &ref, LENS_PREEMPT_CILP, &runlist);
	}
}

// Stores go only to first words of the list's entries.
void check_stores()
{
	struct lens_runlist_regs regs;
	u64 bytes = gpu.gpu.chip->entry_words * 4ULL;

	FUZZ_CHECK(gpu.stores <= fuzz::Lists::LONGEST);
	if (!gpu.stores || placed)
		return;
	FUZZ_CHECK(!lens_runlist_read_regs(&gpu.gpu, lists.rl, &regs));
	FUZZ_CHECK(lowest >= regs.base && highest - regs.base < regs.length * bytes);
	FUZZ_CHECK((lowest - regs.base) % bytes == 0 && (highest - regs.base) % bytes == 0);
}

// Two runlists, of ids 0 and 1, where the input says; most of the 32 bits of an offset are within BAR0.
bool place_runlists()
{
	lens_topology &topo = gpu.gpu.topo;

	topo.n_runlists = 0;
	topo.unnamed_runlists = 0;
	for (u32 i = 0; i < 2; i++) {
		u32 base = gpu.stream.take<u32>() & 0x03fffc00, config = gpu.stream.take<u32>();
		if (base >> 24 != 3)
			base &= 0xffffff;
		if (config >> 24 < 0xf0)
			config &= 0xffffff;
		topo.engines[i] = {};
		topo.engines[i].runlist_base = base;
		topo.engines[i].runlist = LENS_NONE;
		gpu.set_register(base + NV_RUNLIST_DOORBELL_CONFIG, i << 16);
		gpu.set_register(base + NV_RUNLIST_CHANNEL_CONFIG, config);
		gpu.set_register(base + NV_RUNLIST_PBDMA_CONFIG(0), 0);
		gpu.set_register(base + NV_RUNLIST_PBDMA_CONFIG(1), 0);
		gpu.set_register(base + NV_RUNLIST_SUBMIT, gpu.stream.take<uint8_t>() % 8);
	}
	if (gpu.gpu.chip->host->read_runlists(&gpu.gpu))
		return false;
	lists.rl = topo.n_runlists ? &topo.runlists[topo.n_runlists - 1] : nullptr;
	return lists.rl;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpu.start(data, size);
	uint8_t which = gpu.stream.take<uint8_t>();
	lens_ref ref{LENS_NONE, gpu.stream.take<u32>()};
	uint8_t named = gpu.stream.take<uint8_t>();
	if (!lists.start(gpu))
		return 0;
	lens_topology &topo = gpu.gpu.topo;
	topo.n_engines = 2;
	for (s16 i = 0; i < 2; i++) {
		topo.engines[i].runlist = static_cast<s16>(lists.rl->id);
		topo.engines[i].engine_id = i;
	}
	placed = gpu.gpu.chip->ids_per_runlist && named & 0x80;
	if (placed && !place_runlists())
		return 0;
	if (named & 1)
		ref.runlist = named & 2 ? named >> 2 : lists.rl->id;
	// An id beyond the range of ids is only refused, so that few inputs have one.
	if (named < 0xf0)
		ref.id &= 0xfff;
	writes = 0;
	lowest = ~0ULL;
	highest = 0;
	gpu.on_write = check_write;
	gpu.on_store = note_store;
	which %= REQUESTS;
	int err = send_request(which, ref);
	if (which == TIMESLICE)
		check_stores();
	else
		FUZZ_CHECK(gpu.stores <= 2);
	// At most two engines are waited for: each for a second before the preemption and a second after it, with the last
	// read of each. Before that, channels of other TSGs are disabled. A submit is three writes up to Volta.
	FUZZ_CHECK(gpu.waited_us <= 4400000);
	FUZZ_CHECK(writes <= fuzz::Lists::LONGEST + 3);
	switch (err) {
	case 0:
	case -EIO:
	case -ETIMEDOUT: return 0;
	case -ENOENT:
	case -EINVAL:
	case -ERANGE:
	case -EOPNOTSUPP: break;
	case -EBUSY:
		FUZZ_CHECK((which >= PREEMPT && which <= RESUBMIT) || which == TIMESLICE);
		FUZZ_CHECK(!writes || which == SWITCH);
		return 0;
	default: FUZZ_CHECK(!"a known error");
	}
	FUZZ_CHECK(!writes && !gpu.stores);
	return 0;
}
