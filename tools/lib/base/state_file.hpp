// SPDX-License-Identifier: GPL-2.0
// Files of JSON that gpulens keeps from one run to the next: {"version": 1, LIST: [OBJECT...]}.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

// Returns the path: in $XDG_STATE_HOME/gpulens, else of root in /var/lib/gpulens, and of others in ~/.local/state/gpulens. Throws
// Error where no folder is known.
std::string state_path(const std::string &name);
// Returns where to look for such a file: the user's, where he has a folder, and then root's.
std::vector<std::string> state_paths(const std::string &name);

// Returns what the file has, with an empty list where it is not there. Throws Error.
nlohmann::ordered_json read_state(const std::string &path, const char *list);
// Puts an object in place of those that have the same values of these keys. Of two writers at once, one wins. Throws Error.
void store_state(const std::string &path, const char *list, const nlohmann::ordered_json &object,
		 const std::vector<const char *> &keys);

} // namespace tool
