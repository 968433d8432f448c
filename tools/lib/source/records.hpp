// SPDX-License-Identifier: GPL-2.0
// Records that sources in user space add to a stream of samples (include/uapi/gpulens.h).
#pragma once
#include "lib/model/owner.hpp"

#include <optional>
#include <string>

namespace tool {

// Adds that a task belongs to this process from now on; nothing: that it is unknown whose it is. id: with the runlist
// LENS_NONE it is a channel whose ids count over the GPU.
void add_owner_record(std::string &bytes, const TaskId &id, const std::optional<Owner> &owner);

} // namespace tool
