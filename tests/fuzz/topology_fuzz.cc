// SPDX-License-Identifier: GPL-2.0
// Any answer to the reading of a chip's topology, and the text made of it. The first byte chooses the chip.
#include "format.h"
#include "stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz::Stream stream(data, size);
	fuzz::Gpu gpu(stream);
	lens_text t{};

	if (!gpu.identify())
		return 0;
	const lens_topology &topo = gpu.gpu()->topo;
	if (lens_gpu_read_topology(gpu.gpu()) == 0) {
		FUZZ_CHECK(topo.n_engines <= LENS_MAX_ENGINES);
		FUZZ_CHECK(topo.n_runlists <= LENS_MAX_RUNLISTS);
		FUZZ_CHECK(topo.num_gpcs <= LENS_MAX_GPCS);
		FUZZ_CHECK(topo.n_grces <= LENS_MAX_GRCES);
		for (u32 i = 0; i < topo.n_engines; i++)
			FUZZ_CHECK(topo.engines[i].runlist == LENS_NONE || !lens_gpu_has_host(gpu.gpu()) ||
				   lens_gpu_runlist(gpu.gpu(), static_cast<u32>(topo.engines[i].runlist)));
		lens_format_chip(&t, gpu.gpu(), "0000:01:00.0", nullptr);
		lens_format_device_info(&t, gpu.gpu());
		lens_format_copy_topology(&t, gpu.gpu());
		lens_format_tpc_map(&t, gpu.gpu());
		FUZZ_CHECK(!t.err && t.len && t.buf[t.len - 1] == '\n' && !std::memchr(t.buf, 0, t.len));
	}
	lens_text_free(&t);
	return 0;
}
