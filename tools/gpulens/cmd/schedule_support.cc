// SPDX-License-Identifier: GPL-2.0
// Commands that find no result wait for one lock and search again once they have it: the first one measures, and the others
// use its result. GPUs of the same driver and product are checked once.
#include "gpulens/cmd/schedule_support.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/json_input.hpp"
#include "lib/base/state_file.hpp"
#include "lib/source/driver/driver_source.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace tool {

namespace {

using json = nlohmann::ordered_json;

constexpr char SUPPORT_FILE[] = "schedule-probe.json", LIST[] = "entries";
constexpr char ADVICE[] =
	"run gpulens schedule --probe, which measures it in ten seconds, or accept that it may have no effect "
	"with --experimental";

// Returns the entries of a file. Throws Error.
json read_entries(const std::string &path)
{
	json document = read_state(path, LIST);

	for (const json &entry : document[LIST])
		if (!entry.is_object() || !entry.contains("driver") || !entry.contains("gpu") ||
		    !entry.contains("verbs") || !entry["verbs"].is_object())
			Item(document, path).refuse("an entry has no driver, gpu or verbs");
	return document[LIST];
}

std::string name_machine(const Gpu &gpu)
{
	return fmt::format("driver {} on {}", gpu.chip.driver,
			   gpu.chip.product.empty() ? "this GPU" : gpu.chip.product);
}

struct Found {
	json entry;
	std::string path;
};

std::optional<Found> find_support(const std::string &file, const Gpu &gpu)
{
	for (const std::string &path : file.empty() ? state_paths(SUPPORT_FILE) : std::vector<std::string>{file})
		for (const json &entry : read_entries(path))
			if (entry["driver"] == gpu.chip.driver && entry["gpu"] == gpu.chip.product)
				return Found{entry, path};
	return {};
}

// Of several commands one measures, and the others wait for it.
void measure_once(const Gpu &gpu, const MeasureSupport &measure)
{
	MeasureLock lock;

	try {
		if (!find_support("", gpu)) {
			std::fprintf(stderr,
				     "gpulens: measuring once what %s carries out, with programs of its own, for "
				     "about ten seconds\n",
				     name_machine(gpu).c_str());
			measure(gpu.index);
		}
	} catch (const Error &e) {
		throw Error(Error::Unsupported,
			    fmt::format("it could not be measured whether {} carries it out: {}; accept that it "
					"may have no effect with --experimental",
					name_machine(gpu), e.what()));
	}
}

} // namespace

std::string support_path()
{
	return state_path(SUPPORT_FILE);
}

MeasureLock::MeasureLock()
{
	std::string path = support_path();
	std::error_code err;

	std::filesystem::create_directories(std::filesystem::path(path).parent_path(), err);
	fd_ = open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd_ < 0)
		throw Error(Error::Source, fmt::format("{}.lock: {}", path, std::strerror(errno)));
	flock(fd_, LOCK_EX);
}

MeasureLock::~MeasureLock()
{
	close(fd_);
}

void store_support(const std::string &path, const json &entry)
{
	store_state(path, LIST, entry, {"driver", "gpu"});
}

void require_verb(const std::vector<unsigned> &gpus, const std::string &file, const std::string &verb,
		  const MeasureSupport &measure)
{
	DriverSource source;
	std::set<std::pair<std::string, std::string>> kinds;

	for (const Gpu &gpu : source.gpus(gpus)) {
		if (!kinds.emplace(gpu.chip.driver, gpu.chip.product).second)
			continue;
		std::optional<Found> found = find_support(file, gpu);
		if (!found && measure && file.empty()) {
			measure_once(gpu, measure);
			found = find_support(file, gpu);
		}
		if (!found)
			throw Error(Error::Unsupported, fmt::format("it is unknown whether {} carries it out; {}",
								    name_machine(gpu), ADVICE));
		std::string result = found->entry["verbs"].value(verb, json::object()).value("result", "unknown");
		if (result != "works")
			throw Error(Error::Unsupported, fmt::format("{}: {} was measured as '{}' ({})",
								    name_machine(gpu), verb, result, found->path));
	}
	if (kinds.empty())
		throw Error(Error::Source, "NVIDIA's driver lists no GPU");
}

} // namespace tool
