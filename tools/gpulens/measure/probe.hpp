// SPDX-License-Identifier: GPL-2.0
// The probe program of gpulens-lab probe-kernels under a TPC limit, and the kernels that sweep and verify launch with it.
#pragma once
#include "gpulens/blocks/program.hpp"
#include "gpulens/blocks/within.hpp"
#include "gpulens/limit/cuda_probe.hpp"

#include <string>

namespace tool::measure {

constexpr char MATRIX_COPY[] = "matrix-copy"; // name of matrix_copy()

// Returns path, or that of the installed program if path is empty. Throws Error (Source) if there is none.
std::string probe_path_of(const std::string &path);
// Returns options that start the probe under the limit, which must outlive them. path: empty: the installed program.
blocks::ProgramOptions limited_probe(const std::string &path, const gpulens::VerifiedLimit &limit);

// A matrix product, which needs arithmetic, and then a copy from memory to memory, which needs bandwidth, in one stream.
blocks::Scenario matrix_copy(const blocks::Machine &machine);
// Kernels with two blocks for each SM of the GPU, which would run on every SM if nothing limited them; over half a second.
blocks::Scenario sample_sms(const blocks::Machine &machine);

// Compares a log with the TPCs of a limit; under MPS, where %smid counts the SMs that it leaves from 0, with their number.
blocks::Within check_limit(const blocks::Log &log, const gpulens::VerifiedLimit &limit);

} // namespace tool::measure
