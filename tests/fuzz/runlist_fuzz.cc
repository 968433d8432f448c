// SPDX-License-Identifier: GPL-2.0
// The decoders of a runlist: its registers, entries of 8 and 16 bytes, channel words of PCCSR and of channel RAM, for
// any content. Byte 6 selects whether the list changes while it is read.
// Seen failing with a lens_runlist_collect() that copies a list that has become longer than its buffer.
#include "lists.hpp"

namespace {

fuzz::Gpu gpu;
fuzz::Lists lists;

int count_entry(lens_gpu *, const lens_runlist *, const lens_entry *, int, void *arg)
{
	++*static_cast<u32 *>(arg);
	return 0;
}

void check_snapshot(const lens_runlist_snap &snap)
{
	const lens_host_ops *host = gpu.gpu.chip->host;
	lens_channel_state s;
	lens_entry e;

	FUZZ_CHECK(snap.n == snap.regs.length && snap.n <= snap.cap);
	for (u32 i = 0; i < snap.n; i++) {
		host->decode_entry(&snap.entries[i * gpu.gpu.chip->entry_words], &e);
		FUZZ_CHECK(e.id < 4096);
		if (e.is_tsg) {
			u64 ns = lens_timeslice_decode(e.timeout, e.scale);
			FUZZ_CHECK(ns >= 1024 && ns < u64{1} << 33 && ns % 1024 == 0);
			FUZZ_CHECK(!snap.err[i]);
			continue;
		}
		FUZZ_CHECK(snap.err[i] == 0 || snap.err[i] == -EIO || snap.err[i] == -ERANGE);
		FUZZ_CHECK((snap.err[i] == -ERANGE) == (e.id >= snap.rl->channels));
		host->decode_channel(&snap.state[2 * i], &s);
		FUZZ_CHECK(s.status < 16 && s.inst_target < 4 && s.pccsr != s.chram);
		FUZZ_CHECK(s.inst % 4096 == 0);
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpu.start(data, size);
	if (!lists.start(gpu))
		return 0;
	gpu.moves = gpu.stream.take<uint8_t>() & 1;
	int err = lists.collect(gpu.gpu, false);
	if (err)
		return 0;
	check_snapshot(lists.snap);
	if (gpu.moves)
		return 0;
	FUZZ_CHECK(!lists.snap.torn);
	u32 walked = 0;
	if (!lens_runlist_walk(&gpu.gpu, lists.rl, count_entry, &walked))
		FUZZ_CHECK(walked == lists.snap.n);
	return 0;
}
