// SPDX-License-Identifier: GPL-2.0
// Prints what /proc/gpuX/image would print of an emulated chip with a scenario, without a virtual machine.
// Usage: record-image PROFILE SCENARIO    (names in emulator/profiles and emulator/scenarios)
#include "support/tools/recorded.hpp"

#include <cstdio>

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::fprintf(stderr, "usage: record-image PROFILE SCENARIO\n");
		return 2;
	}
	tool_test::Live live(argv[1], argv[2]);
	if (!live.unfit.empty()) {
		std::fprintf(stderr, "record-image: %s\n", live.unfit.c_str());
		return 1;
	}
	std::fputs(live.image_text().c_str(), stdout);
	return 0;
}
