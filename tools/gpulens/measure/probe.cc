// SPDX-License-Identifier: GPL-2.0
// Makes the scenarios, and runs the probe through LimitedProgram.
#include "gpulens/measure/probe.hpp"

#include "gpulens/measure/limited_program.hpp"
#include "lib/base/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace tool::measure {

using blocks::Benchmark;
using blocks::Kernel;
using blocks::Kind;
using blocks::Machine;
using blocks::Scenario;

namespace {

// Decisions: a product of about 17 billion operations; a copy beyond the L2 cache of every GPU that is known (96 MiB).
constexpr u64 MATRIX_WIDTH = 2048, COPY_BYTES = u64{512} << 20;
constexpr u32 BLOCKS_PER_SM = 8;
// Kernels that spin 200 us each 50 ms: on one TPC of 132 SMs' GPU one takes 66 waves of 4 blocks, 13 ms.
constexpr u32 SAMPLE_KERNELS = 10;
constexpr u64 SAMPLE_SPIN_NS = 200'000, SAMPLE_PERIOD_NS = 50'000'000;

} // namespace

std::string probe_path_of(const std::string &path)
{
	return path.empty() ? blocks::installed_program(blocks::PROBE_PROGRAM, "or name another program with --probe")
			    : path;
}

blocks::ProgramOptions limited_probe(const std::string &path, const gpulens::VerifiedLimit &limit)
{
	blocks::ProgramOptions options;

	options.path = path;
	options.start = [&limit](const std::vector<std::string> &program, const std::string &input) {
		Finished finished = CapturedProgram(program, &limit, true, input).finish();
		require_success(program[0], finished.status);
		return finished.output;
	};
	return options;
}

Scenario matrix_copy(const Machine &machine)
{
	Kernel matrix{.name = "matrix",
		      .kind = Kind::Matrix,
		      .blocks = BLOCKS_PER_SM * machine.sms,
		      .threads = 1024,
		      .work = MATRIX_WIDTH};
	Kernel copy{.name = "copy",
		    .kind = Kind::Copy,
		    .blocks = BLOCKS_PER_SM * machine.sms,
		    .threads = 256,
		    .work = COPY_BYTES};
	Scenario scenario;

	scenario.name = MATRIX_COPY;
	scenario.benchmarks.push_back({"multikernel", "matrix and copy", "", 0, {matrix, copy}});
	return scenario;
}

Scenario sample_sms(const Machine &machine)
{
	Benchmark stream{"multikernel", "sample", "", 0, {}};
	Scenario scenario;

	for (u32 i = 0; i < SAMPLE_KERNELS; i++)
		stream.kernels.push_back({.name = fmt::format("K{}", i + 1),
					  .kind = Kind::Spin,
					  .blocks = 2 * machine.sms,
					  .threads = 1024,
					  .release_ns = i * SAMPLE_PERIOD_NS,
					  .work = SAMPLE_SPIN_NS});
	scenario.name = "verify";
	scenario.benchmarks.push_back(stream);
	return scenario;
}

blocks::Within check_limit(const blocks::Log &log, const gpulens::VerifiedLimit &limit)
{
	std::vector<unsigned> tpcs = limit.tpcs;

	if (limit.under_mps)
		std::iota(tpcs.begin(), tpcs.end(), 0U);
	return blocks::check_within(log, fmt::format("{}", fmt::join(tpcs, ",")));
}

} // namespace tool::measure
