// SPDX-License-Identifier: GPL-2.0
// The tool's output for an image, as text, as JSON and as the module would print it: any image.
#include "gpulens/out/gpu_json.hpp"
#include "gpulens/out/text.hpp"
#include "lib/model/isolation.hpp"
#include "lib/source/image/from_image.hpp"
#include "lib/source/image/proc_text.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	tool::ImageResult r = tool::parse_image({reinterpret_cast<const char *>(data), size});
	if (!r.image)
		return 0;
	tool::Gpu gpu = tool::from_image(*r.image, "x");
	std::string text = tool::overview_text(gpu, {}) + tool::engines_text(gpu, {}) +
			   tool::runlists_text(gpu, std::nullopt, {}) + tool::channels_text(gpu, {}) +
			   tool::isolation_text(gpu, tool::isolation_of(gpu), {});
	FUZZ_CHECK(text.find('\0') == text.npos);
	size_t channels = 0;
	for (const tool::Runlist &rl : gpu.runlists)
		channels += rl.channels().size();
	FUZZ_CHECK(tool::channels_json(gpu).size() == channels);
	tool::Decoder d(*r.image);
	for (const char *file :
	     {"chip", "device_info", "copy_topology", "tpc_map", "bars", "num_ces", "gpc0_tpc_mask", "lce_for_pce0"})
		FUZZ_CHECK(tool::proc_text(d, file).text.find('\0') == text.npos);
	return 0;
}
