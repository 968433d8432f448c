// SPDX-License-Identifier: GPL-2.0
// The commands that show GPUs as they are now, or were when recorded.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>

namespace tool {

enum class Show { Overview, Chip, Engines, Runlists, Channels, Copy, Gpcs, Isolation };

// Prints to standard output, and to standard error what could not be shown. id: of one runlist. check: hazards make
// the exit status EXIT_PART.
int show(Show what, const Options &options, std::optional<u32> id = std::nullopt, bool check = false);
// The file of /proc/gpuX of that name, from an image.
int show_proc(const std::string &name, const Options &options);

} // namespace tool
