// SPDX-License-Identifier: GPL-2.0
// Which TSGs and channels programs that gpulens run started say that they have, as far as nothing contradicts it.
#pragma once
#include "lib/rm/client.hpp"
#include "lib/rm/processes.hpp"
#include "lib/rm/run_tsg.hpp"

#include <vector>

namespace tool::rm {

// Returns the TSGs on this GPU that these processes claim, and those of more. A channel that the driver has not allocated,
// or that two programs or TSGs claim, is left out, and so is a TSG without any. The driver reports allocated channels to
// root only; an ordinary user sees only claims of programs of the same user.
std::vector<RunTsg> find_claims(Client &client, const Subdevice &subdevice, const Attached &gpu,
				const std::vector<Process> &processes, const std::vector<RunTsg> &more = {});

} // namespace tool::rm
