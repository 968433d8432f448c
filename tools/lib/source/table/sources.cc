// SPDX-License-Identifier: GPL-2.0
// Lists the sources, and loads GPUs from files and sources.
#include "lib/source/table/sources.hpp"

#include "lib/rm/client.hpp"
#include "lib/source/driver/driver_source.hpp"
#include "lib/source/image/file_source.hpp"
#include "lib/source/joined/joined_source.hpp"
#include "lib/source/module/module_source.hpp"
#include "lib/source/module/proc.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

namespace tool {

const std::vector<SourceRow> SOURCES = {
	{"module", "/proc/gpuX",
	 [](const SourceOptions &options) { return !found_gpus(options.proc).empty() || module_loaded(); },
	 [](const SourceOptions &options) -> std::unique_ptr<Source> {
		 return std::make_unique<ModuleSource>(options.proc);
	 }},
	{"rm", "NVIDIA's driver", [](const SourceOptions &) { return rm::Client::has_node(); },
	 [](const SourceOptions &) -> std::unique_ptr<Source> { return std::make_unique<DriverSource>(); }},
};

std::string sources_help()
{
	std::string text;

	for (const SourceRow &row : SOURCES)
		text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", row.name, row.about);
	return text + " or auto: the first of these that is present, and the module with the processes that the driver "
		      "reports where both are (default: auto)";
}

std::unique_ptr<Source> machine_source(const SourceOptions &options)
{
	if (options.source)
		return options.source->make(options);
	auto row =
		std::find_if(SOURCES.begin(), SOURCES.end(), [&](const SourceRow &r) { return r.is_present(options); });
	std::unique_ptr<Source> source = (row == SOURCES.end() ? SOURCES.front() : *row).make(options);

	if (row == SOURCES.begin() && rm::Client::has_node())
		return std::make_unique<JoinedSource>(std::move(source));
	return source;
}

std::vector<Gpu> load_gpus(const SourceOptions &options)
{
	std::vector<Gpu> gpus;
	auto add = [&](const Source &source, const std::vector<unsigned> &numbers) {
		std::vector<Gpu> more = source.gpus(numbers);
		std::move(more.begin(), more.end(), std::back_inserter(gpus));
	};

	for (const std::string &file : options.files)
		add(FileSource(file), {});
	if (options.files.empty() || !options.gpus.empty())
		add(*machine_source(options), options.gpus);
	return gpus;
}

void add_sms(std::vector<Gpu> &gpus, const SourceOptions &options)
{
	for (Gpu &gpu : gpus)
		if (!options.source && options.files.empty() && gpu.sms.empty())
			add_driver_sms(gpu);
}

} // namespace tool
