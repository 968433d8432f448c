// SPDX-License-Identifier: GPL-2.0
// See run_tsg.hpp.
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

constexpr size_t LONGEST = 4096;     // bytes; rm/preload.cc writes less than 2,000
constexpr size_t MAX_CHANNELS = 128; // of a TSG, as there
constexpr u64 MAX_ID = 65536, MAX_PID = u64{1} << 31, MAX_TIMESLICE_US = u64{1} << 32;
constexpr size_t MAX_NAME = 16;

std::string mode(const nlohmann::json &preemption, const char *name)
{
	return printable(preemption.at(name).get<std::string>().substr(0, MAX_NAME));
}

RunTsg run_line(std::string_view line)
{
	if (line.size() > LONGEST)
		throw std::out_of_range("too long");
	nlohmann::json j = parse_outside(line);
	RunTsg one{.pid = outside_number(j.at("pid"), MAX_PID),
		   .device = outside_number(j.at("device"), MAX_ID),
		   .tsg = outside_number(j.at("tsg"), MAX_ID),
		   .engine = rm::engine_name(outside_number(j.at("engine"), MAX_ID)),
		   .compute{},
		   .graphics{}};
	if (!j.at("timeslice_us").is_null())
		one.timeslice_us = outside_number(j.at("timeslice_us"), MAX_TIMESLICE_US);
	if (!j.at("preemption").is_null()) {
		one.compute = mode(j.at("preemption"), "compute");
		one.graphics = mode(j.at("preemption"), "graphics");
	}
	one.channels = outside_numbers(j.at("channels"), rm::AllocatedChannels::MAX, MAX_CHANNELS);
	std::sort(one.channels.begin(), one.channels.end());
	one.channels.erase(std::unique(one.channels.begin(), one.channels.end()), one.channels.end());
	return one;
}

} // namespace

std::vector<RunTsg> run_lines(std::string_view text, const std::string &name)
{
	std::map<std::tuple<u32, u32, u32, std::string>, RunTsg> last;
	std::vector<RunTsg> list;
	size_t number = 0;

	for (size_t at = 0, end; at < text.size(); at = end + 1) {
		end = std::min(text.find('\n', at), text.size());
		number++;
		try {
			RunTsg one = run_line(text.substr(at, end - at));
			last[{one.pid, one.device, one.tsg, one.engine}] = one;
		} catch (const std::exception &) {
			throw Error(Error::Source,
				    fmt::format("{}: line {}: not what gpulens run writes", name, number));
		}
	}
	list.reserve(last.size());
	for (auto &[key, one] : last)
		list.push_back(std::move(one));
	return list;
}

std::vector<RunTsg> run_tsgs(const std::string &file)
{
	return run_lines(read_whole(file), file);
}

} // namespace tool
