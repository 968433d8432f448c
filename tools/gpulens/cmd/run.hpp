// SPDX-License-Identifier: GPL-2.0
// gpulens run: a program with a library preloaded (rm/preload.cc) that tells which TSGs and channels NVIDIA's driver gave
// it, which nobody but that program is told.
#pragma once
#include "gpulens/out/output.hpp"

#include <map>
#include <string>
#include <vector>

namespace tool {

struct RunOptions {
	std::vector<std::string> program;               // and its arguments
	std::string file;                               // empty: a table on standard error when it has ended
	std::map<std::string, std::string> environment; // more of it
	std::vector<std::string> preload;               // names of more libraries
	bool limited = false;                           // it is killed where it uses the GPU without these (guard.hpp)
};

// Throws SourceError where libraries cannot be preloaded into the program, or into the interpreter that it names: it is
// linked statically, has file capabilities, or is another user's by its mode (setuid, setgid); or they are not there.
void check_preloadable(const RunOptions &how);
// The program's exit status, 128 and the signal that ended it, 127 where it could not be begun, or EXIT_REFUSED where it was
// killed for using the GPU without its limit. Signals to this process are passed on to the program. Throws SourceError.
int run(const RunOptions &how);
} // namespace tool
