// SPDX-License-Identifier: GPL-2.0
// The commands that show the state of GPUs, live or recorded.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

enum class Show { Overview, Chip, Engines, Runlists, Channels, Copy, Gpcs, Isolation };

// Prints the GPUs to standard output and failures to standard error, and returns the exit status. id: show one runlist.
// check: return EXIT_PART if there are hazards. Throws Error.
int show_gpus(Show command, const Options &options, std::optional<u32> id = std::nullopt, bool check = false);
// Prints the file of /proc/gpuX with this name, from an image. Returns the exit status. Throws Error.
int show_proc(const std::string &name, const Options &options);

} // namespace tool
