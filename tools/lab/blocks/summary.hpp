// SPDX-License-Identifier: GPL-2.0
// Prints a log as a table of its kernels, and as distributions of its times (cdf.cc); and the list of built-in scenarios.
#pragma once
#include "gpulens/blocks/within.hpp"
#include "gpulens/out/table.hpp"
#include "lab/blocks/check.hpp"

namespace tool::blocks {

// A line for each kernel.
std::string summary_text(const Log &log, const Style &style);
// verdict, within: the results of --check and --within.
nlohmann::ordered_json summary_json(const Log &log, const std::optional<Verdict> &verdict,
				    const std::optional<Within> &within);
std::string builtins_text(const Style &style);
nlohmann::ordered_json builtins_json();
// Distributions of the times in a log, as cuda_scheduling_examiner's scripts draw them.
// Returns lines "what,process,stream,label,seconds,fraction", a header first: of each stream the times of its jobs (an
// iteration, from its first launch until the CPU found the stream idle), of its kernels (from the first block's start to the
// last one's end) and of its blocks, ascending. fraction: of the times, how many are not longer. Kernels without launch times
// are in no job.
std::string cdf_csv(const Log &log);
// The same as curves, an SVG file.
std::string cdf_svg(const Log &log);

} // namespace tool::blocks
