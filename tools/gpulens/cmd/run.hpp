// SPDX-License-Identifier: GPL-2.0
// gpulens run: runs a program with a preloaded library (preload/tsg_recorder.cc) that records which TSGs and channels
// NVIDIA's driver gives it; the driver answers that to the program alone.
#pragma once
#include "gpulens/out/output.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tool {

// Where a plan places the program.
struct PlannedPlace {
	std::string file, device; // device: PCI address of the GPU
	std::vector<u32> gpcs;    // ascending
	bool on_mps = false;      // under MPS
};

struct RunOptions {
	std::vector<std::string> program;               // and its arguments
	std::string file;                               // for TSGs; empty: a table on standard error at the end
	std::map<std::string, std::string> environment; // variables to add
	std::vector<std::string> preload;               // names of further libraries
	unsigned limits = 0;                            // LIMIT_IN_...: kill the program if it runs without (guard.hpp)
	bool quiet = false;                             // do not print what a limit does not separate
	bool mps = false;                               // refuse the program where it would not be a client of MPS
	bool pitfalls = false;                          // record calls of CUDA's driver (pitfalls.hpp)
	std::string pitfalls_json{};                    // file; empty: none
	bool fixed = false;                             // its TPCs cannot be changed while it runs, as with a plan
	std::optional<PlannedPlace> planned{};          // of a limit from a plan
};

// Throws Error (Source) where libraries cannot be preloaded into the program or its script interpreter: it is linked statically,
// has file capabilities, or is setuid or setgid; or the libraries are missing.
void check_preloadable(const RunOptions &options);
// Returns the program's exit status, 128 plus the signal that ended it, 127 where it could not be started, or EXIT_REFUSED
// where the guard killed it. Forwards signals to the program. Throws Error (Source).
int run_program(const RunOptions &options);
} // namespace tool
