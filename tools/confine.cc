// SPDX-License-Identifier: GPL-2.0
// See confine.hpp.
#include "confine.hpp"

#include "applied.hpp"
#include "confinement.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

int confine(const Options &options, const std::string &where, RunOptions &run)
{
	std::optional<unsigned> gpu;
	gpulens::Confinement to;

	if (options.sources.gpus.size() > 1)
		throw SourceError("one GPU at a time: each program gets TPCs of one");
	if (!options.sources.gpus.empty())
		gpu = options.sources.gpus[0];
	check_preloadable(run.program[0]);
	try {
		to = gpulens::confinement(gpu, where);
	} catch (const gpulens::Error &e) {
		fmt::print(stderr, "gpulens: {}\n", e.what());
		return e.err == EINVAL || e.err == ENOENT ? EXIT_USAGE : e.err == ENODEV ? EXIT_SOURCE : EXIT_REFUSED;
	}
	run.environment = to.environment;
	run.preload = {"libgpulens-confine.so"};
	fmt::print(stderr, "gpulens: {} is on TPCs {} of {}, in GPCs {}\n", run.program[0], ranges(to.tpcs), to.pci,
		   ranges(to.gpcs));
	for (const Applied &other : applied_partitions(options.sources.proc))
		std::fputs(overlaps_text({{.pid = static_cast<u32>(getpid()),
					   .process = run.program[0],
					   .gpu = to.pci,
					   .way = "mask",
					   .scope = "program",
					   .tpcs = to.tpcs,
					   .gpcs = to.gpcs,
					   .launches{}},
					  other})
				   .c_str(),
			   stderr);
	return EXIT_DONE;
}

} // namespace tool
