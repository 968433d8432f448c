// SPDX-License-Identifier: GPL-2.0
// Formats GPUs as text for people, one function per command. Strings end with a newline; nothing is printed.
#pragma once
#include "gpulens/out/table.hpp"
#include "lib/model/isolation.hpp"
#include "lib/model/model.hpp"

#include <optional>
#include <string>

namespace tool {

// Returns "gpu0: AD102 (Ada), 0000:01:00.0, from /proc/gpu0/snapshot".
std::string headline(const Gpu &gpu, const Style &style);

// Returns the engines of a runlist: "GR0, GRCE0/LCE0".
std::string engine_list(const Gpu &gpu, u32 runlist);

// Returns a paragraph behind a mark of two columns, wrapped to the terminal.
std::string format_item(const std::string &mark, const std::string &text, const Style &style,
			const std::string &indent = "");

Ink ink_of(Activity activity);

std::string overview_text(const Gpu &gpu, const Style &style);
std::string chip_text(const Gpu &gpu, const Style &style);
std::string engines_text(const Gpu &gpu, const Style &style);
// Formats one runlist, or all: those with entries, and a line with the numbers of the empty ones.
std::string runlists_text(const Gpu &gpu, std::optional<u32> id, const Style &style);
std::string channels_text(const Gpu &gpu, const Style &style);
std::string copy_text(const Gpu &gpu, const Style &style);
std::string gpcs_text(const Gpu &gpu, const Style &style);
// accepted: ids of hazards (HAZARD_IDS) that are marked as accepted.
std::string isolation_text(const Gpu &gpu, const Isolation &isolation, const Style &style,
			   const std::vector<std::string> &accepted = {});

} // namespace tool
