// SPDX-License-Identifier: GPL-2.0
// GPUs of NVIDIA's resource manager one by one, for those that need no other: in a container some of the driver's GPUs
// have no node.
#pragma once
#include "lib/model/model.hpp"

#include <string>
#include <vector>

namespace tool {

// The GPUs that NVIDIA's resource manager has in use, of these numbers in PCI order, all of them when none is given.
// What it refuses is in their failures. Throws SourceError.
std::vector<Gpu> from_rm(const std::vector<unsigned> &which);
// The one at that PCI address ("0000:01:00.0"); no other is opened. Throws SourceError.
Gpu from_rm_at(const std::string &pci);
// The numbers of all of them, whether they can be opened or not. Never empty. Throws SourceError.
std::vector<unsigned> rm_gpus();
// Could from_rm() ask nothing about this GPU? Its failures then have the one reason.
bool is_closed(const Gpu &gpu);

} // namespace tool
