// SPDX-License-Identifier: GPL-2.0
// Formats a file of /proc/gpuX from an image with the module's formatters. So scripts written for /proc work on recorded
// GPUs, and tests compare images with the module.
#pragma once
#include "lib/source/image/decode.hpp"

#include <string>
#include <vector>

namespace tool {

struct ProcText {
	std::string text;
	std::vector<Failure> failures;
};

// Returns whether it is the name of a file of /proc/gpuX. proc_text() returns its content, or a failure for files that an
// image cannot have: snapshot, topology, stats, samples and the write-only files.
bool is_proc_file(const std::string &name);
// Returns the names of those that an image has, the first one of those that have a number: runlist0.
std::vector<std::string> proc_files();
ProcText proc_text(Decoder &decoder, const std::string &name);

} // namespace tool
