// SPDX-License-Identifier: GPL-2.0
// GPUs as text made for reading; one function per command. Strings end with a newline; nothing is printed here.
#pragma once
#include "isolation.hpp"
#include "model.hpp"
#include "table.hpp"

#include <optional>
#include <string>

namespace tool {

// "gpu0: AD102 (Ada), 0000:01:00.0, from /proc/gpu0/snapshot"
std::string headline(const Gpu &gpu, const Style &style);

// "GR0, GRCE0/LCE0": the engines of a runlist.
std::string engine_list(const Gpu &gpu, u32 runlist);

std::string overview_text(const Gpu &gpu, const Style &style);
std::string chip_text(const Gpu &gpu, const Style &style);
std::string engines_text(const Gpu &gpu, const Style &style);
// One runlist, or all that are not empty with a line for those that are.
std::string runlists_text(const Gpu &gpu, std::optional<u32> id, const Style &style);
std::string channels_text(const Gpu &gpu, const Style &style);
std::string copy_text(const Gpu &gpu, const Style &style);
std::string gpcs_text(const Gpu &gpu, const Style &style);
std::string isolation_text(const Gpu &gpu, const Isolation &isolation, const Style &style);

// "faulted", "off", "runs", "waits", "idle" or "unreadable": a channel in one word.
std::string channel_word(const Channel &channel);
// 1048576 as "1.049 ms": three digits after the point, in the unit that suits.
std::string duration(u64 ns);
// A name that somebody else chose, without what would steer a terminal: ? in place of control characters.
std::string printable(std::string name);
// Ascending numbers as "0-3, 7"; "none".
std::string ranges(const std::vector<u32> &sorted);
// "48.0 GiB"
std::string bytes_text(u64 bytes);

} // namespace tool
