// SPDX-License-Identifier: GPL-2.0
// Any file as an image: loading it, writing it again, and everything the tool prints of it.
#include "commands.hpp"
#include "stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	tool::ImageResult r = tool::parse_image({reinterpret_cast<const char *>(data), size});

	if (!r.image) {
		FUZZ_CHECK(!r.error.text.empty());
		return 0;
	}
	std::string text = tool::write_image(*r.image);
	tool::ImageResult again = tool::parse_image(text);
	FUZZ_CHECK(again.image);
	FUZZ_CHECK(tool::write_image(*again.image) == text);

	tool::Decoder d(*r.image);
	for (tool::What what :
	     {tool::What::Chip, tool::What::Engines, tool::What::Copy, tool::What::Gpcs, tool::What::Channels}) {
		tool::Output plain = tool::text_output(d, {what, 0});
		tool::Output as_json = tool::json_output(d, {what, 0});
		FUZZ_CHECK(plain.failures.size() == as_json.failures.size());
	}
	if (!d.has_topology())
		return 0;
	for (u32 i = 0; i < d.gpu().topo.n_runlists; i++) {
		tool::text_output(d, {tool::What::Runlist, d.gpu().topo.runlists[i].id});
		tool::json_output(d, {tool::What::Runlist, d.gpu().topo.runlists[i].id});
	}
	return 0;
}
