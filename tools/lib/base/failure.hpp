// SPDX-License-Identifier: GPL-2.0
// Why a part of a GPU is not shown: which item, what the kernel or the core answered, which words an image lacks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tool {

// A word that decoding wanted and that an image does not have.
struct Missing {
	char kind; // 'r', 'v' or 's', as image lines begin
	uint64_t addr;
};

// "r 0x00c00080"
std::string to_string(const Missing &m);

struct Failure {
	std::string item; // "runlist 3"
	int err = 0;      // negative errno
	std::vector<Missing> missing;
	std::string said{}; // by who was asked, instead of the errno's words

	// "not recorded: r 0x00c00080"
	std::string why() const;
	// "EIO"
	std::string errno_name() const;
};

// What to say of engines that are missing: of which there was no room for so many, or nothing more than the errno says.
std::string engines_missing(int err, uint32_t dropped);

} // namespace tool
