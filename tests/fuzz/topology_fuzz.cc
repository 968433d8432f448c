// SPDX-License-Identifier: GPL-2.0
// The decoders of a chip's topology (device table of both versions and of two dies, runlists, PBDMAs, GPCs, copy
// engines, memory) and the names of engines: any registers of any chip. The first byte selects the chip; with 255 the
// identification reads any answer, too.
// Seen failing with an add_engine() that accepts one device too many, for inputs of more than 512 bytes.
#include "stream.hpp"

namespace {

fuzz::Gpu gpu;

void check_topology(const lens_topology &topo)
{
	char name[LENS_ENGINE_NAME];
	u32 first, tpcs = 0;

	FUZZ_CHECK(topo.n_engines <= LENS_MAX_ENGINES);
	FUZZ_CHECK(topo.n_runlists <= LENS_MAX_RUNLISTS);
	FUZZ_CHECK(topo.num_gpcs <= LENS_MAX_GPCS);
	FUZZ_CHECK(topo.ce.n_grces <= LENS_MAX_GRCES);
	for (u32 i = 0; i < topo.n_engines; i++) {
		const lens_engine &e = topo.engines[i];
		FUZZ_CHECK(e.runlist == LENS_NONE || !lens_gpu_has_host(&gpu.gpu) ||
			   lens_gpu_find_runlist(&gpu.gpu, static_cast<u32>(e.runlist)));
	}
	// The text of device_info has the names of all others.
	if (topo.n_engines) {
		lens_engine_format_name(&gpu.gpu, &topo.engines[0], name);
		FUZZ_CHECK(name[0] && std::memchr(name, 0, sizeof(name)));
	}
	for (u32 i = 1; i < topo.n_runlists; i++)
		FUZZ_CHECK(topo.runlists[i - 1].id < topo.runlists[i].id);
	for (u32 i = 0; i < topo.num_gpcs; i++) {
		u32 n = lens_gpc_count_tpcs(&topo, i, &first);
		FUZZ_CHECK(first == tpcs && n <= topo.num_tpc_per_gpc);
		tpcs += n;
	}
	for (u32 i = 0; i < topo.ce.n_grces; i++)
		FUZZ_CHECK(!(lens_lce_find_pces(&gpu.gpu, &topo.ce, topo.ce.shared_lce[i]) & ~topo.ce.pce_map));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gpu.start(data, size);
	if (!size || data[0] != 255)
		gpu.identify();
	else if (lens_gpu_identify(&gpu.gpu, gpu.io()))
		return 0;
	if (lens_gpu_read_topology(&gpu.gpu) == 0)
		check_topology(gpu.gpu.topo);
	return 0;
}
