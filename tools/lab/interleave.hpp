// SPDX-License-Identifier: GPL-2.0
// gpulens-lab interleave: TSGs of the command line, and the runlist of them (lib/schedule/interleaved.hpp) as text and JSON.
#pragma once
#include "lib/schedule/interleaved.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tool {

// Parses words NAME:LEVEL[:SLICE_US[:CHANNELS]]. Throws Error, which names the wrong word.
std::vector<SimulatedTsg> parse_tsgs(const std::vector<std::string> &words);

std::string simulate_text(const Simulation &s);
nlohmann::ordered_json simulate_json(const Simulation &s);

} // namespace tool
