// SPDX-License-Identifier: GPL-2.0
// gpulens amd: GPUs, queues, runlists and hardware queues of the kernel's driver for AMD GPUs, read-only. Never seen on a GPU.
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/amd/kfd_state.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace tool {

struct AmdOptions {
	std::string part; // "gpus", "queues", "runlist" or "slots"; empty: all
	std::string root; // folder that has sys/; empty: this machine
};

// Returns the exit status: EXIT_PART if something was not decoded or matched. Throws Error.
int show_amd(const Options &options, const AmdOptions &amd);

std::string amd_text(const amd::KfdState &state, const std::string &part, const Style &style);
// docs/amd-schema.json
nlohmann::ordered_json amd_json(const amd::KfdState &state, const std::string &part);

} // namespace tool
