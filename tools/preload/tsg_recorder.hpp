// SPDX-License-Identifier: GPL-2.0
// Writes each change of a TSG as a line of GPULENS_RUN_FILE (lib/rm/run_tsg.hpp).
#pragma once
#include "preload/driver_objects.hpp"

namespace preload {

// Queries the driver about the TSG through fd, whose client owns it, and writes a line if anything changed. Without
// GPULENS_RUN_FILE it does nothing.
void write_tsg_line(int fd, Group &g);

} // namespace preload
