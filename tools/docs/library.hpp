// SPDX-License-Identifier: GPL-2.0
// Manual pages of a C library, section 3, from its header.
#pragma once
#include <map>
#include <string>

namespace docs {

// Returns pages by file name ("gpulens_error.3"): one with all of the header, named after it, and one that includes it for
// each function. head: begins the first one, up to the heading NAME with its line; the rest is from the header's comments:
// the first, and the one before each declaration. Throws std::runtime_error if a function has none.
std::map<std::string, std::string> library_pages(const std::string &header, const std::string &name,
						 const std::string &head);

} // namespace docs
