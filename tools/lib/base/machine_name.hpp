// SPDX-License-Identifier: GPL-2.0
// Names of machines, by which recordings of several machines are told apart.
#pragma once
#include <string>

namespace tool {

// Letters, digits, dots, hyphens and underscores, at most 253 as in a name of DNS; not a dot first, because it becomes the
// name of a folder.
bool is_machine_name(const std::string &name);
// The name of this machine, as hostname(1) prints it; empty if that is not such a name.
std::string this_machine();

} // namespace tool
