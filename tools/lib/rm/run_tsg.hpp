// SPDX-License-Identifier: GPL-2.0
// The TSGs of a program, from the file that gpulens run's preloaded library (preload/tsg_recorder.hpp) writes. The file is
// untrusted: the program can write anything there.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// A TSG of a program, in its last state.
struct RunTsg {
	u32 pid = 0, device = 0, tsg = 0; // device: the driver's instance, as rm::Attached has it
	std::string engine;               // "GR0", "COPY2"
	std::optional<u64> timeslice_us{};
	std::string compute, graphics; // preemption mode: "WFI", "CTA", "CILP"; "WFI", "GFXP"; empty: unknown
	std::vector<u32> channels{};
};

// Parses one line of JSON for each change of a TSG, and returns the last state of each. name: of the file, for messages.
// Throws Error.
std::vector<RunTsg> parse_run_lines(std::string_view text, const std::string &name);
// Reads a file that gpulens run wrote. Throws Error.
std::vector<RunTsg> read_run_file(const std::string &file);

} // namespace tool
