// SPDX-License-Identifier: GPL-2.0
// The table of commands of gpulens-lab, as gpulens/cli/commands.hpp has that of gpulens.
#pragma once
#include "gpulens/cli/cli.hpp"

namespace tool {

Commands blocks_commands();
Commands evaluate_commands();
Commands experiment_commands();
Commands interleave_commands();
Commands warps_commands();
Program lab_program();

} // namespace tool
