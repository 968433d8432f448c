// SPDX-License-Identifier: GPL-2.0
// Where GPUs are seen: the module's /proc/gpuX (module/), files that hold a snapshot of the module or an image
// (/proc/gpuX/image; image/), or NVIDIA's resource manager (rm/). From each comes a tool::Gpu.
#pragma once
#include "lib/model/model.hpp"

#include <string>
#include <vector>

namespace tool {

enum class From {
	Auto,   // the module where it is loaded, else NVIDIA's driver
	Module, // /proc/gpuX
	Rm,     // /dev/nvidiactl
};

struct SourceOptions {
	From from = From::Auto;
	std::vector<std::string> files; // images and snapshots; "-" is standard input
	std::vector<unsigned> gpus;     // of /proc; empty: all
	std::string proc = "/proc";     // elsewhere in tests, and where a container has its host's
};

// Is the driver asked, and not the module?
bool asks_rm(const SourceOptions &options);
// The GPUs of all files and, when there are none or some are named, of the module, as load_permitted() has them.
// Never empty.
std::vector<Gpu> load_gpus(const SourceOptions &options);
// The GPU that a command of one GPU is for: the one named, or the only one. Throws SourceError.
unsigned only_gpu(const SourceOptions &options);

} // namespace tool
