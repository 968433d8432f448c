// SPDX-License-Identifier: GPL-2.0
// The files mqds, rls, hqds and properties of the kernel's driver for AMD GPUs: any text, for a GPU of each generation. Each
// error names the file. Seen failing with a runlist's packet that is read beyond its end.
#include "lib/amd/hqds.hpp"
#include "lib/amd/mqds.hpp"
#include "lib/amd/runlist.hpp"
#include "room.hpp"

namespace {

// Decodes each MQD by each layout.
void decode_queues(const tool::amd::Mqds &mqds, u32 gfx)
{
	const tool::amd::MqdLayout *layout = tool::amd::find_layout(gfx);

	for (const tool::amd::MqdProcess &process : mqds.processes)
		for (const tool::amd::MqdQueue &queue : process.queues) {
			FUZZ_CHECK(!queue.mqds.empty());
			if (queue.type == tool::amd::QueueType::Sdma)
				tool::amd::decode_sdma_mqd(queue.mqds[0], "f");
			else if (layout)
				FUZZ_CHECK(tool::amd::decode_compute_mqd(*layout, queue.mqds[0], 8, 1, "f")
						   .cu_mask.size() <= 8);
		}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const u32 generations[] = {70000, 80300, 90006, 90402, 100100, 110000, 120000, 130000};

	if (!size)
		return 0;
	u32 gfx = generations[data[0] & 7];
	std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
	std::vector<tool::amd::KfdGpu> gpus{{.node = 1, .gpu_id = 0xa, .name = "x", .gfx = gfx}};
	try {
		switch (data[0] >> 3 & 3) {
		case 0: decode_queues(tool::amd::parse_mqds(text, "f"), gfx); break;
		case 1:
			for (const tool::amd::Runlist &list : tool::amd::parse_runlists(text, "f", gpus))
				FUZZ_CHECK(list.decoded || list.processes.empty());
			break;
		case 2:
			for (const tool::amd::GpuSlots &gpu : tool::amd::parse_hqds(text, "f", gpus))
				FUZZ_CHECK(!gpu.stopped || gpu.gpu_id == 0xa);
			break;
		default: tool::amd::Properties(text, "f").find("simd_count");
		}
	} catch (const tool::Error &e) {
		FUZZ_CHECK(e.code == tool::Error::Input && std::string(e.what()).starts_with("f:"));
	}
	return 0;
}
