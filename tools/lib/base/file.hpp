// SPDX-License-Identifier: GPL-2.0
// Files of the user's: read as a whole, and what their errors mean.
#pragma once
#include <string>

namespace tool {

// The whole file, at once; "-" is standard input. 0 or the errno.
int read_path(const std::string &path, std::string &bytes);
// What it is called in messages: "standard input" for "-".
std::string name_of_file(const std::string &path);
// The whole file, as read_path() has it. Throws Error.
std::string read_whole(const std::string &path);
// What an errno of that file means, and what one can do.
std::string explain_file(int err, const std::string &path);

} // namespace tool
