// SPDX-License-Identifier: GPL-2.0
// Reads whole files, and explains their errors.
#pragma once
#include <string>
#include <vector>

namespace tool {

// Reads the whole file; "-" is standard input. Returns 0 or an errno.
int read_path(const std::string &path, std::string &bytes);
// Returns the name for messages: "standard input" for "-".
std::string name_of_file(const std::string &path);
// Returns the whole file; see read_path(). Throws Error.
std::string read_file(const std::string &path);
// The same of a file of JSON, which takes 25 times its size when parsed. EFBIG: more than 16 MiB.
std::string read_json_file(const std::string &path);
// Returns the path of a file of this installation: in PREFIX/lib/gpulens, or beside this program, as other programs are, and where it was built all. In
// neither: the former, where nothing is.
std::string installed_file(const std::string &name);
// Returns a message about an errno of a file, with a remedy. writing: the file was to be written.
std::string explain_file(int err, const std::string &path, bool writing = false);

} // namespace tool
