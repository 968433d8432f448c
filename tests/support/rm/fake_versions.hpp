// SPDX-License-Identifier: GPL-2.0
// The fake resource manager as a driver of another version than the recorded one, 580: sizes and offsets of parameters, from
// ctrl2080gr.h, ctrl2080gpu.h, ctrl2080fb.h and ctrl2080perf.h of 535.288.01, 550.163.01, 570.211.01, 575.64.05, 590.48.01 and
// 595.45.04, written here a second time.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake {

// Sizes of parameters by command, or class that is allocated, of those that differ. version: "535.261.03".
std::map<uint32_t, uint32_t> sizes_in(const std::string &version);

// Parameters of a command in that version as 580 has them, and back.
std::vector<uint8_t> parameters_580(uint32_t cmd, const uint8_t *bytes, uint32_t size, uint32_t size_580);
void put_parameters(uint32_t cmd, const std::vector<uint8_t> &parameters, uint8_t *bytes, uint32_t size);

} // namespace fake
