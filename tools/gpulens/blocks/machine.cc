// SPDX-License-Identifier: GPL-2.0
// What a GPU can hold: by its compute capability, and whether a scenario fits.
#include "gpulens/blocks/scenario.hpp"

#include "lib/base/errors.hpp"

#include <fmt/format.h>

namespace tool::blocks {

// The sources: CUDA C++ Programming Guide, table of technical specifications by compute capability; RTAS'23, section IV-A
// (the GTX 1060, 6.1, and older GPUs have one SM per TPC, the P100, 6.0, and newer ones two).
void set_capability(Machine &machine, u32 capability)
{
	struct Row {
		u32 capability, grids;
	};
	constexpr u32 MAXWELL_LAST = 53, GP10X = 61;
	constexpr Row ROWS[] = {{30, 16}, {32, 4},   {35, 32}, {37, 32}, {50, 32},  {52, 32},
				{53, 16}, {60, 128}, {61, 32}, {62, 16}, {70, 128}, {72, 16}};
	constexpr u32 TURING = 75, LAST_KNOWN = 129, NEWER_GRIDS = 128; // 7.5 to 12.x

	machine.sms_per_tpc = capability <= MAXWELL_LAST || capability == GP10X ? 1 : 2;
	machine.grids = capability >= TURING && capability <= LAST_KNOWN ? NEWER_GRIDS : 0;
	for (const Row &row : ROWS)
		if (row.capability == capability)
			machine.grids = row.grids;
}

void check_fits(const Scenario &scenario, const Machine &machine)
{
	const TpcSet all = machine.tpcs() < MAX_TPCS ? ~(~TpcSet() << machine.tpcs()) : ~TpcSet();

	auto check_mask = [&](const std::string &where, const std::optional<TpcSet> &tpcs) {
		if (tpcs && (*tpcs & all).none())
			throw Error(Error::Input,
				    fmt::format("{}: {}: its mask {} has none of the GPU's {} TPCs", scenario.name,
						where, sm_mask_text(*tpcs), machine.tpcs()));
	};

	for (u32 number = 0; number < scenario.benchmarks.size(); number++) {
		if (scenario.benchmarks[number].plugin)
			check_mask(scenario.benchmarks[number].plugin->file, scenario.tpcs_of(number, 0));
		for (u32 kernel = 0; kernel < scenario.benchmarks[number].kernels.size(); kernel++) {
			const Kernel &k = scenario.benchmarks[number].kernels[kernel];
			if (machine.threads_per_sm && k.threads > machine.threads_per_sm)
				throw Error(Error::Input,
					    fmt::format("{}: kernel \"{}\": {} threads per block, but an SM holds {}",
							scenario.name, k.name, k.threads, machine.threads_per_sm));
			if (machine.shared_per_block && k.shared > machine.shared_per_block)
				throw Error(Error::Input,
					    fmt::format("{}: kernel \"{}\": {} bytes of shared memory per block, but "
							"this GPU has {}",
							scenario.name, k.name, k.shared, machine.shared_per_block));
			check_mask(fmt::format("kernel \"{}\"", k.name), scenario.tpcs_of(number, kernel));
		}
	}
}

} // namespace tool::blocks
