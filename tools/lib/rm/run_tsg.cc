// SPDX-License-Identifier: GPL-2.0
// Checks and parses the lines that gpulens run writes.
#include "lib/rm/run_tsg.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/outside.hpp"
#include "lib/rm/abi.hpp"
#include "lib/rm/engine_type.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

namespace tool {

namespace {

constexpr size_t MAX_LINE = 4096;    // bytes; preload/tsg_recorder.cc writes less than 2,000
constexpr size_t MAX_CHANNELS = 128; // of a TSG, as in preload/tsg_recorder.cc
constexpr u64 MAX_ID = 65536, MAX_PID = u64{1} << 31, MAX_TIMESLICE_US = u64{1} << 32;
constexpr size_t MAX_NAME = 16;

std::string preemption_mode(const nlohmann::json &preemption, const char *name)
{
	return replace_controls(preemption.at(name).get<std::string>().substr(0, MAX_NAME));
}

RunTsg parse_run_line(std::string_view line)
{
	if (line.size() > MAX_LINE)
		throw std::out_of_range("too long");
	nlohmann::json j = parse_outside(line);
	RunTsg tsg{.pid = outside_number(j.at("pid"), MAX_PID),
		   .device = outside_number(j.at("device"), MAX_ID),
		   .tsg = outside_number(j.at("tsg"), MAX_ID),
		   .engine = rm::engine_name(outside_number(j.at("engine"), MAX_ID)),
		   .compute{},
		   .graphics{}};
	if (!j.at("timeslice_us").is_null())
		tsg.timeslice_us = outside_number(j.at("timeslice_us"), MAX_TIMESLICE_US);
	if (!j.at("preemption").is_null()) {
		tsg.compute = preemption_mode(j.at("preemption"), "compute");
		tsg.graphics = preemption_mode(j.at("preemption"), "graphics");
	}
	tsg.channels = outside_numbers(j.at("channels"), rm::AllocatedChannels::MAX, MAX_CHANNELS);
	std::sort(tsg.channels.begin(), tsg.channels.end());
	tsg.channels.erase(std::unique(tsg.channels.begin(), tsg.channels.end()), tsg.channels.end());
	return tsg;
}

} // namespace

std::vector<RunTsg> parse_run_lines(std::string_view text, const std::string &name)
{
	std::map<std::tuple<u32, u32, u32, std::string>, RunTsg> last;
	std::vector<RunTsg> list;
	size_t number = 0;

	for (size_t at = 0, end; at < text.size(); at = end + 1) {
		end = std::min(text.find('\n', at), text.size());
		number++;
		try {
			RunTsg tsg = parse_run_line(text.substr(at, end - at));
			last[{tsg.pid, tsg.device, tsg.tsg, tsg.engine}] = tsg;
		} catch (const std::exception &) {
			throw Error(Error::Source, fmt::format("{}: line {}: not a line of gpulens run", name, number));
		}
	}
	list.reserve(last.size());
	for (auto &[key, tsg] : last)
		list.push_back(std::move(tsg));
	return list;
}

std::vector<RunTsg> read_run_file(const std::string &file)
{
	return parse_run_lines(read_file(file), file);
}

} // namespace tool
