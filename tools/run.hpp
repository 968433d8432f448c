// SPDX-License-Identifier: GPL-2.0
// gpulens run: a program with a library preloaded (rm/preload.cc) that tells which TSGs and channels NVIDIA's driver gave
// it, which nobody but that program is told.
#pragma once
#include "show.hpp"

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

// A TSG of a program, as it was last.
struct RunTsg {
	u32 pid = 0, device = 0, tsg = 0; // device: the driver's instance, as rm::Attached has it
	std::string engine;               // "GR0", "COPY2"
	std::optional<u64> timeslice_us{};
	std::string compute, graphics; // how it makes room: "WFI", "CTA", "CILP"; "WFI", "GFXP"; empty: not told
	std::vector<u32> channels{};
};

// Throws SourceError where libraries cannot be preloaded into the program, or into the interpreter that it names: it is
// linked statically, has file capabilities, or is another user's by its mode (setuid, setgid); or they are not there.
void check_preloadable(const RunOptions &how);
// The program's exit status, 128 and the signal that ended it, 127 where it could not be begun, or EXIT_REFUSED where it was
// killed for using the GPU without its limit. Signals to this process are passed on to the program. Throws SourceError.
int run(const RunOptions &how);
// Of a file that run wrote: a line of JSON for each time that a TSG became another one; the last of each is taken.
// Throws SourceError.
std::vector<RunTsg> run_tsgs(const std::string &file);

} // namespace tool
