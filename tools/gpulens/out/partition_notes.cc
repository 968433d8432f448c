// SPDX-License-Identifier: GPL-2.0
// The notes. The factors are those of docs/results/2026-11-23-h100.md, "Memory is shared": in halves of an H200 a sum
// of 1 GiB took 1.02 ms beside another one and 0.511 ms alone, a product of 4096 x 4096 9.70 ms beside a sum and 5.41 ms
// alone.
#include "gpulens/out/partition_notes.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool {

std::optional<bool> mps_runs(const std::optional<std::vector<Process>> &processes)
{
	if (!processes)
		return std::nullopt;
	return std::any_of(processes->begin(), processes->end(), [](const Process &p) {
		return std::find(p.uses.begin(), p.uses.end(), "MPS") != p.uses.end();
	});
}

std::string turns_note(std::optional<bool> mps)
{
	return fmt::format(
		"a partition separates TPCs, not time: processes on one graphics runlist take turns (RTAS'24, rule "
		"R4), except under MPS, {}",
		!mps   ? "and whether that is in use is unknown"
		: *mps ? "which other programs use on this GPU"
		       : "which no process uses now, as far as NVIDIA's driver reports (gpulens run --mps "
			 "runs programs under it)");
}

std::string memory_note()
{
	return "partitions share L2 cache and memory bandwidth: in half of an H200, memory-bound work took 2.0 times "
	       "as long "
	       "beside memory-bound work in the other half, compute-bound work 1.8 times";
}

std::vector<std::string> partition_notes(std::optional<bool> mps, bool under_mps)
{
	return {under_mps ? "under MPS, programs on other TPCs run at the same time; which TPCs the bits of the mask "
			    "are was "
			    "verified without MPS, and under it how many SMs they leave"
			  : turns_note(mps),
		memory_note()};
}

} // namespace tool
