// SPDX-License-Identifier: GPL-2.0
// What the tool prints of an image, as text and as JSON: any image. Byte 0 chooses the command, the rest is the file.
// Seen to fail with text_output() leaving the failures of copy engines out.
#include "commands.hpp"
#include "room.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const tool::What commands[] = {tool::What::Chip, tool::What::Engines,  tool::What::Copy,
					      tool::What::Gpcs, tool::What::Channels, tool::What::Runlist};

	if (!size)
		return 0;
	tool::ImageResult r = tool::parse_image({reinterpret_cast<const char *>(data) + 1, size - 1});
	if (!r.image)
		return 0;
	tool::Decoder d(*r.image);
	u32 n = d.has_topology() ? d.gpu().topo.n_runlists : 0;
	tool::Command command{commands[data[0] % 6], n ? d.gpu().topo.runlists[data[0] / 6 % n].id : 0U};
	tool::Output plain = tool::text_output(d, command), as_json = tool::json_output(d, command);
	FUZZ_CHECK(plain.failures.size() == as_json.failures.size());
	FUZZ_CHECK(as_json.text.size() > 2 && plain.text.find('\0') == plain.text.npos);
	return 0;
}
