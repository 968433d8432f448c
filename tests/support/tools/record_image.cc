// SPDX-License-Identifier: GPL-2.0
// Prints the text of /proc/gpuX/image for an emulated chip with a scenario, without a virtual machine.
// Usage: record-image PROFILE SCENARIO    (names in emulator/profiles and emulator/scenarios)
#include "support/tools/recorded.hpp"

#include <cstdio>
#include <stdexcept>

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::fprintf(stderr, "usage: record-image PROFILE SCENARIO\n");
		return 2;
	}
	try {
		tool_test::Live live(argv[1], argv[2]);
		if (!live.unfit.empty())
			throw std::runtime_error(live.unfit);
		if (!live.chip.gpu->chip)
			throw std::runtime_error(std::string(argv[1]) +
						 ": the core does not know this chip; see docs/add-a-chip.md");
		std::fputs(live.image_text().c_str(), stdout);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "record-image: %s\n", e.what());
		return 1;
	}
	return 0;
}
