// SPDX-License-Identifier: GPL-2.0
// Finding and reading GPUs. See sources.hpp.
#include "lib/source/sources.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/rm/client.hpp"
#include "lib/rm/from_rm.hpp"
#include "lib/source/image/from_image.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

namespace tool {

bool asks_rm(const SourceOptions &options)
{
	if (options.from != From::Auto)
		return options.from == From::Rm;
	return rm::Client::there() && found_gpus(options.proc).empty() && !module_loaded();
}

unsigned only_gpu(const SourceOptions &sources)
{
	if (sources.gpus.size() == 1)
		return sources.gpus[0];
	std::vector<unsigned> there = proc_gpus(sources.proc);
	if (!sources.gpus.empty() || there.size() > 1)
		throw SourceError(fmt::format("one GPU at a time: say -g X; there is {}", fmt::join(there, ", ")));
	return there[0];
}

std::vector<Gpu> load_gpus(const SourceOptions &options)
{
	std::vector<Gpu> gpus;

	for (const std::string &file : options.files)
		gpus.push_back(from_bytes(read_whole(file), name_of_file(file)));
	if (!options.files.empty() && options.gpus.empty())
		return gpus;
	if (asks_rm(options)) {
		std::vector<Gpu> all = from_rm(options.gpus);
		std::move(all.begin(), all.end(), std::back_inserter(gpus));
		return gpus;
	}
	for (unsigned x : options.gpus.empty() ? proc_gpus(options.proc) : options.gpus)
		gpus.push_back(load_permitted(options.proc, x));
	return gpus;
}

} // namespace tool
