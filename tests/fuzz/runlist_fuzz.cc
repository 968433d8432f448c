// SPDX-License-Identifier: GPL-2.0
// Any content of a runlist, its channels' states, instance blocks and contexts, and the text made of them. The first
// byte chooses the chip, the second the runlist's id.
#include "commands.hpp"
#include "format.h"
#include "stream.hpp"

namespace {

int count_entry(lens_gpu *, const lens_runlist *, const lens_entry *, int, void *arg)
{
	++*static_cast<u32 *>(arg);
	return 0;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz::Stream stream(data, size);
	fuzz::Gpu gpu(stream);
	lens_text t{};

	if (!gpu.identify() || !lens_gpu_has_host(gpu.gpu()))
		return 0;
	lens_topology &topo = gpu.gpu()->topo;
	topo.n_runlists = 1;
	topo.runlists[0] = {};
	topo.runlists[0].id =
		static_cast<u16>(stream.take(1)) % (gpu.gpu()->chip->runlists ? gpu.gpu()->chip->runlists : 1);
	topo.runlists[0].channels = 2048;
	topo.runlists[0].base = 0xc00000;
	topo.runlists[0].chram = 0xb00000;

	// Registers keep their value, so the real reading below gets this answer too. Long lists teach nothing new.
	struct lens_runlist_regs regs;
	if (!::lens_runlist_regs(gpu.gpu(), &topo.runlists[0], &regs) && regs.length > 256)
		return 0;
	tool::Runlist list(*gpu.gpu(), topo.runlists[0]);
	if (!list.err) {
		FUZZ_CHECK(list.snap.n == list.snap.regs.length);
		lens_format_runlist(&t, gpu.gpu(), &list.snap, true);
		FUZZ_CHECK(!t.err && t.len && t.buf[t.len - 1] == '\n' && !std::memchr(t.buf, 0, t.len));
		FUZZ_CHECK(tool::runlist_rows(*gpu.gpu(), list.snap).size() == list.snap.n);
		u32 walked = 0;
		if (!lens_runlist_walk(gpu.gpu(), &topo.runlists[0], count_entry, &walked))
			FUZZ_CHECK(walked == list.snap.n);
	}
	lens_text_free(&t);
	return 0;
}
