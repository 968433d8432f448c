// SPDX-License-Identifier: GPL-2.0
// A file of /proc/gpuX as it would read on the machine that an image was recorded on: the module's own formatters over
// the image. Scripts written for /proc go on working on a recording, and tests hold the image against the module.
#pragma once
#include "lib/source/image/decode.hpp"

#include <string>
#include <vector>

namespace tool {

struct ProcText {
	std::string text;
	std::vector<Failure> failures;
};

// Is it a file of /proc/gpuX? proc_text() gives what an image tells of it, or a failure that says why it tells nothing:
// of snapshot, stats, samples and of those that are written to.
bool is_proc_file(const std::string &name);
ProcText proc_text(Decoder &decoder, const std::string &name);

} // namespace tool
