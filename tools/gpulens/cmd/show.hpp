// SPDX-License-Identifier: GPL-2.0
// The commands that show the state of GPUs, live or recorded.
#pragma once
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool {

enum class Show { Overview, Chip, Engines, Runlists, Channels, Copy, Gpcs, Isolation };

// The options of isolation.
struct IsolationCheck {
	bool check = false;                // judge the GPUs by the exit status
	std::vector<std::string> accepted; // ids of hazards (HAZARD_IDS) that do not count
};

// Prints the GPUs to standard output and failures to standard error, and returns the exit status. id: show one runlist.
// With a check it is EXIT_PART if a GPU has hazards that are not accepted, else EXIT_UNKNOWN if that could not be
// determined for one. Throws Error.
int show_gpus(Show command, const Options &options, std::optional<u32> id = std::nullopt,
	      const IsolationCheck &check = {});
// Prints the file of /proc/gpuX with this name, from an image. Returns the exit status. Throws Error.
int show_proc(const std::string &name, const Options &options);

} // namespace tool
