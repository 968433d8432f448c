// SPDX-License-Identifier: GPL-2.0
// GPUs as text made for reading; one function per command. Strings end with a newline; nothing is printed here.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/model/isolation.hpp"
#include "lib/model/model.hpp"

#include <optional>
#include <string>

namespace tool {

// "gpu0: AD102 (Ada), 0000:01:00.0, from /proc/gpu0/snapshot"
std::string headline(const Gpu &gpu, const Style &style);

// "GR0, GRCE0/LCE0": the engines of a runlist.
std::string engine_list(const Gpu &gpu, u32 runlist);

Ink ink_of(Activity activity);

std::string overview_text(const Gpu &gpu, const Style &style);
std::string chip_text(const Gpu &gpu, const Style &style);
std::string engines_text(const Gpu &gpu, const Style &style);
// One runlist, or all that are not empty with a line for those that are.
std::string runlists_text(const Gpu &gpu, std::optional<u32> id, const Style &style);
std::string channels_text(const Gpu &gpu, const Style &style);
std::string copy_text(const Gpu &gpu, const Style &style);
std::string gpcs_text(const Gpu &gpu, const Style &style);
std::string isolation_text(const Gpu &gpu, const Isolation &isolation, const Style &style);

} // namespace tool
