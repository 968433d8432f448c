// SPDX-License-Identifier: GPL-2.0
// Benchmarks of a scenario that are loaded from a shared object: the interface of cuda_scheduling_examiner's benchmarks,
// which tools/probe/gpulens-plugin.h describes.
#pragma once

#include <array>
#include <gpulens/types.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tool {
class Item;
}

namespace tool::blocks {

struct Plugin {
	std::string file;
	std::array<u32, 3> threads{1, 1, 1}, blocks{1, 1, 1}; // what it is asked for: of a block; of the grid
	u64 data_size = 0;
	std::optional<std::string> info{}; // JSON on one line
	u64 release_ns = 0;
	std::optional<u32> core{}; // the processor that its thread stays on
};

// Whether a benchmark's filename or its key "plugin" says that it is one. builtin: the file has the name of a built-in
// benchmark. Throws Error (Input).
bool is_plugin(const Item &object, bool builtin);
// Parses what only plugins have. Throws Error (Input).
Plugin parse_plugin(const Item &object);
// Adds its keys.
void add_plugin(nlohmann::ordered_json &benchmark, const Plugin &plugin, bool builtin);

} // namespace tool::blocks
