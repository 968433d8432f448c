// SPDX-License-Identifier: GPL-2.0
// Reads and writes the file as a whole.
#include "lib/base/state_file.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/json_input.hpp"
#include "lib/base/output_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

using json = nlohmann::ordered_json;

static std::string root_state_path(const std::string &name)
{
	return "/var/lib/gpulens/" + name;
}

std::string state_path(const std::string &name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state && *state)
		return fmt::format("{}/gpulens/{}", state, name);
	if (!geteuid())
		return root_state_path(name);
	if (!home || !*home)
		throw Error(Error::Source, "no folder for the results: neither XDG_STATE_HOME nor HOME is set");
	return fmt::format("{}/.local/state/gpulens/{}", home, name);
}

std::vector<std::string> state_paths(const std::string &name)
{
	std::vector<std::string> paths = {root_state_path(name)};

	try {
		if (std::string own = state_path(name); own != paths[0])
			paths.insert(paths.begin(), own);
	} catch (const Error &) { // a user without a home
	}
	return paths;
}

json read_state(const std::string &path, const char *list)
{
	std::error_code err;
	json document = {{"version", 1U}, {list, json::array()}}; // unsigned, as parsed

	if (std::filesystem::exists(path, err))
		document = parse_json(read_json_file(path), path);
	Item file(document, path);
	file.integer("version", 1, 1);
	if (!file.at(list).is_array())
		file.refuse(fmt::format("{} is {}, not a list", list, quote_value(file.at(list))));
	return document;
}

void store_state(const std::string &path, const char *list, const json &object, const std::vector<const char *> &keys)
{
	json document = read_state(path, list), kept = json::array({object});
	std::filesystem::path folder = std::filesystem::path(path).parent_path();
	std::error_code err;

	for (const json &old : document[list])
		if (!old.is_object() || !std::all_of(keys.begin(), keys.end(), [&](const char *key) {
			    return old.value(key, json()) == object.at(key);
		    }))
			kept.push_back(old);
	document[list] = kept;
	if (!folder.empty())
		std::filesystem::create_directories(folder, err);
	OutputFile file(path);
	file.write(document.dump(1, '\t', false, json::error_handler_t::replace) + '\n');
	file.commit();
}

} // namespace tool
