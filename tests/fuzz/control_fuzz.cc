// SPDX-License-Identifier: GPL-2.0
// Requests on any hardware: each returns a known error after a bounded time, writes nothing where the error says that
// the request itself is wrong, and only to registers of Host, of the named runlist and of its channels. Byte 0 is the
// request, the next four bytes are the id, the next says whether a runlist is named.
// Seen to fail with named_runlist() leaving out that the id is below the limit.
#include "hw/fifo.h"
#include "lists.hpp"

namespace {

fuzz::Gpu gpu;
fuzz::Lists lists;
u32 writes;

bool within(u32 off, u32 first, u32 bytes)
{
	return off - first < bytes;
}

void wrote(u32 off)
{
	const lens_runlist &rl = *lists.rl;

	writes++;
	if (gpu.gpu.chip->ids_per_runlist)
		FUZZ_CHECK(within(off, rl.base, 0x400) || within(off, rl.chram, 4U * rl.channels));
	else
		FUZZ_CHECK(within(off, 0x2000, 0x2000) || within(off, NV_PCCSR_CHANNEL_INST(0), 8U * rl.channels));
}

int request(uint8_t which, const lens_ref &ref)
{
	lens_gpu *g = &gpu.gpu;
	int runlist;

	switch (which % 9) {
	case 0: return lens_channel_enable(g, &ref, true, &runlist);
	case 1: return lens_channel_enable(g, &ref, false, &runlist);
	case 2: return lens_tsg_preempt(g, &ref, &runlist);
	case 3: return lens_tsg_switch_to(g, &ref, &runlist);
	case 4: return lens_runlist_preempt(g, ref.id);
	case 5: return lens_runlist_resubmit(g, ref.id);
	case 6: return lens_channel_preemption(g, &ref, LENS_PREEMPT_WFI, &runlist);
	case 7: return lens_channel_preemption(g, &ref, LENS_PREEMPT_CTA, &runlist);
	default: return lens_channel_preemption(g, &ref, LENS_PREEMPT_CILP, &runlist);
	}
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
	if (named & 1)
		ref.runlist = named & 2 ? named >> 2 : lists.rl->id;
	// Of no use beyond what ids have, but for being refused.
	if (named < 0xf0)
		ref.id &= 0xfff;
	writes = 0;
	gpu.wrote = wrote;
	int err = request(which, ref);
	FUZZ_CHECK(gpu.stores <= 2);
	// At most two engines are waited for, each for a second and the last look; others' channels are disabled before.
	FUZZ_CHECK(gpu.waited_us <= 2200000);
	FUZZ_CHECK(writes <= fuzz::Lists::LONGEST + 2);
	switch (err) {
	case 0:
	case -EIO:
	case -ETIMEDOUT: return 0;
	case -ENOENT:
	case -EINVAL:
	case -ERANGE:
	case -EOPNOTSUPP: break;
	default: FUZZ_CHECK(!"a known error");
	}
	FUZZ_CHECK(!writes && !gpu.stores);
	return 0;
}
