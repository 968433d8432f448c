// SPDX-License-Identifier: GPL-2.0
// Parses and writes the keys of plugins.
#include "gpulens/blocks/plugin.hpp"

#include "gpulens/blocks/scenario.hpp"
#include "lib/base/format.hpp"
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr double MAX_DATA = 9007199254740992; // 2^53: the whole numbers that a double, which the framework parses, has
constexpr u32 MAX_CORE = 1023;
constexpr size_t MAX_INFO = 1U << 20; // bytes
constexpr double MAX_WHOLE = 1e15;

// Replaces 1e6 or 1000000.0 by 1000000, as the framework writes whole numbers to additional_info.
json make_whole(const json &value)
{
	json copy = value;

	if (value.is_number_float() && std::abs(value.get<double>()) < MAX_WHOLE &&
	    std::trunc(value.get<double>()) == value.get<double>())
		return static_cast<int64_t>(value.get<double>());
	if (value.is_structured())
		for (json &item : copy)
			item = make_whole(item);
	return copy;
}

// A number, or up to three; the framework's unused dimensions are 1.
std::array<u32, 3> parse_dimensions(const Item &object, const char *key, u32 max)
{
	std::array<u32, 3> dimensions{1, 1, 1};
	std::vector<u32> list;

	if (object.at(key).is_array())
		list = object.numbers(key, max);
	else
		list.push_back(object.integer(key, 1, max));
	if (list.empty() || list.size() > dimensions.size())
		object.refuse(fmt::format("{} is {}, not 1 to 3 numbers", key, quote_value(object.at(key))));
	for (size_t i = 0; i < list.size(); i++) {
		if (!list[i])
			object.refuse(fmt::format("{} has 0", key));
		dimensions[i] = list[i];
	}
	return dimensions;
}

json dimensions_json(const std::array<u32, 3> &dimensions)
{
	return dimensions[1] == 1 && dimensions[2] == 1 ? json(dimensions[0]) : json(dimensions);
}

} // namespace

bool is_plugin(const Item &object, bool builtin)
{
	const char *key = "plugin";

	if (object.has(key) && !object.at(key).is_boolean())
		object.refuse(fmt::format("{} is {}, not true or false", key, quote_value(object.at(key))));
	bool asked = object.has(key) && object.at(key).get<bool>();
	if (object.has(key) && !asked && !builtin)
		object.refuse(fmt::format("plugin is false, but filename {} is no built-in benchmark",
					  quote_value(object.at("filename"))));
	return asked || (!builtin && object.string("filename").ends_with(".so"));
}

Plugin parse_plugin(const Item &object)
{
	Plugin p;

	p.file = object.string("filename");
	if (p.file.empty() ||
	    std::any_of(p.file.begin(), p.file.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
		object.refuse(
			fmt::format("filename is {}, which is empty or has control characters", quote_value(p.file)));
	for (const char *key :
	     {"use_null_stream", "blocking_stream", "shared_memory_size", "copy_in_count", "copy_out_count"})
		if (object.has(key))
			object.refuse(fmt::format("{} is set, but a plugin decides this itself", key));
	p.threads = parse_dimensions(object, "thread_count", MAX_THREADS);
	p.blocks = parse_dimensions(object, "block_count", INT32_MAX);
	if (u64{p.threads[0]} * p.threads[1] * p.threads[2] > MAX_THREADS)
		object.refuse(fmt::format("thread_count is {}, more than {} in all",
					  quote_value(object.at("thread_count")), MAX_THREADS));
	if (object.has("data_size"))
		p.data_size = static_cast<u64>(object.number("data_size", 0, MAX_DATA, "bytes"));
	if (object.has("additional_info")) {
		p.info = make_whole(object.at("additional_info")).dump(-1, ' ', false, json::error_handler_t::replace);
		if (p.info->size() > MAX_INFO)
			object.refuse(fmt::format("additional_info has more than {} bytes", MAX_INFO));
	}
	if (object.has("cpu_core"))
		p.core = object.integer("cpu_core", 0, MAX_CORE);
	return p;
}

void add_plugin(json &benchmark, const Plugin &plugin, bool builtin)
{
	if (builtin || !plugin.file.ends_with(".so"))
		benchmark["plugin"] = true;
	benchmark["thread_count"] = dimensions_json(plugin.threads);
	benchmark["block_count"] = dimensions_json(plugin.blocks);
	if (plugin.data_size)
		benchmark["data_size"] = plugin.data_size;
	if (plugin.info)
		benchmark["additional_info"] = json::parse(*plugin.info);
	benchmark["release_time"] = to_seconds(plugin.release_ns);
	if (plugin.core)
		benchmark["cpu_core"] = *plugin.core;
}

} // namespace tool::blocks
