// SPDX-License-Identifier: GPL-2.0
// See schedule_support.hpp.
#include "gpulens/cmd/schedule_support.hpp"

#include "gpulens/out/output.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/json_input.hpp"
#include "lib/source/driver/driver_source.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace tool {

namespace {

using json = nlohmann::ordered_json;

constexpr char ROOT_FILE[] = "/var/lib/gpulens/schedule-probe.json";
constexpr char ADVICE[] =
	"run gpulens schedule --probe, which measures it in 20 seconds, or accept that it may have no effect "
	"with --experimental";

// Returns the entries of a file; an empty list if there is none. Throws Error.
json read_entries(const std::string &path)
{
	std::error_code err;

	if (!std::filesystem::exists(path, err))
		return json::array();
	json document = parse_json(read_json_file(path), path);
	Item file(document, path);
	if (file.integer("version", 0, 1000) != 1)
		file.refuse("version is not 1");
	const json &entries = file.at("entries");
	if (!entries.is_array())
		file.refuse("entries is not a list");
	for (const json &entry : entries)
		if (!entry.is_object() || !entry.contains("driver") || !entry.contains("gpu") ||
		    !entry.contains("verbs") || !entry["verbs"].is_object())
			file.refuse("an entry has no driver, gpu or verbs");
	return entries;
}

bool same_machine(const json &entry, const std::string &driver, const std::string &product)
{
	return entry["driver"] == driver && entry["gpu"] == product;
}

} // namespace

std::string support_path()
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!geteuid())
		return ROOT_FILE;
	if (state && *state)
		return fmt::format("{}/gpulens/schedule-probe.json", state);
	if (!home || !*home)
		throw Error(Error::Source, "no folder for the results: neither XDG_STATE_HOME nor HOME is set");
	return fmt::format("{}/.local/state/gpulens/schedule-probe.json", home);
}

void store_support(const std::string &path, const json &entry)
{
	json entries = json::array();
	std::error_code err;

	for (const json &old : read_entries(path))
		if (!same_machine(old, entry["driver"], entry["gpu"]))
			entries.push_back(old);
	entries.push_back(entry);
	std::filesystem::path folder = std::filesystem::path(path).parent_path();
	if (!folder.empty())
		std::filesystem::create_directories(folder, err);
	write_file(path, json_text({{"version", 1}, {"entries", entries}}));
}

void require_support(const std::string &file, const std::string &driver, const std::string &product,
		     const std::string &verb)
{
	std::vector<std::string> files = {file};

	if (file.empty())
		files = {support_path(), ROOT_FILE};
	for (const std::string &path : files)
		for (const json &entry : read_entries(path)) {
			if (!same_machine(entry, driver, product))
				continue;
			std::string result = entry["verbs"].value(verb, json::object()).value("result", "unknown");
			if (result == "works")
				return;
			throw Error(Error::Unsupported, fmt::format("driver {} on {}: {} was measured as '{}' ({})",
								    driver, product, verb, result, path));
		}
	throw Error(Error::Unsupported, fmt::format("it is unknown whether driver {} on {} carries it out; {}", driver,
						    product.empty() ? "this GPU" : product, ADVICE));
}

void require_verb(const std::vector<unsigned> &gpus, const std::string &file, const std::string &verb)
{
	DriverSource source;
	std::set<std::pair<std::string, std::string>> kinds;

	for (const Gpu &gpu : source.gpus(gpus))
		kinds.emplace(gpu.chip.driver, gpu.chip.product);
	if (kinds.empty())
		throw Error(Error::Source, "NVIDIA's driver lists no GPU");
	for (const auto &[driver, product] : kinds)
		require_support(file, driver, product, verb);
}

} // namespace tool
