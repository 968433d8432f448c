// SPDX-License-Identifier: GPL-2.0
// TSGs of a program, as the library that gpulens run preloads wrote them (preload/run.cc), which anybody else may have
// written in its place.
#pragma once
#include "gpulens/types.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// A TSG of a program, as it was last.
struct RunTsg {
	u32 pid = 0, device = 0, tsg = 0; // device: the driver's instance, as rm::Attached has it
	std::string engine;               // "GR0", "COPY2"
	std::optional<u64> timeslice_us{};
	std::string compute, graphics; // how it makes room: "WFI", "CTA", "CILP"; "WFI", "GFXP"; empty: not told
	std::vector<u32> channels{};
};

// A line of JSON for each time that a TSG became another one; the last of each is taken. name: of the file, for messages.
// Throws Error.
std::vector<RunTsg> run_lines(std::string_view text, const std::string &name);
// Of a file that run wrote. Throws Error.
std::vector<RunTsg> run_tsgs(const std::string &file);

} // namespace tool
