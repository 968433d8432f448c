// SPDX-License-Identifier: GPL-2.0
// Finds the SMs of a log that are outside of a mask.
#include "gpulens/blocks/within.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/tpc/tpc_mask.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr u32 MAX_NUMBER = 65536;
constexpr size_t MAX_SHOWN_KERNELS = 4; // as text
const std::string SM_PREFIX = "sm:";

std::vector<u32> list_of(const std::vector<bool> &allowed)
{
	std::vector<u32> list;

	for (u32 sm = 0; sm < allowed.size(); sm++)
		if (allowed[sm])
			list.push_back(sm);
	return list;
}

std::string kernels_text(const std::vector<std::string> &kernels)
{
	std::vector<std::string> shown(
		kernels.begin(), kernels.begin() + static_cast<long>(std::min(kernels.size(), MAX_SHOWN_KERNELS)));
	std::string text = replace_controls(fmt::format("{}", fmt::join(shown, ", ")));

	return kernels.size() > shown.size() ? text + fmt::format(" and {} more", kernels.size() - shown.size()) : text;
}

} // namespace

Within check_within(const Log &log, const std::string &mask)
{
	bool by_sm = mask.compare(0, SM_PREFIX.size(), SM_PREFIX) == 0;
	std::optional<std::vector<u32>> numbers =
		by_sm ? plan::parse_numbers(mask.substr(SM_PREFIX.size()), MAX_NUMBER) : plan::parse_mask(mask);
	bool known = log.machine.threads_per_sm; // otherwise sms is the highest number that was seen
	u32 per_number = by_sm ? 1 : log.machine.sms_per_tpc;
	std::map<u32, Outside> outside;
	std::vector<bool> used(log.machine.sms);
	Within within;

	within.sms_per_tpc = log.machine.sms_per_tpc;
	if (!by_sm && !numbers)
		numbers = plan::parse_numbers(mask, MAX_NUMBER);
	if (!numbers)
		throw Error(Error::Input, fmt::format("--within \"{}\": expected 0-9,12, 0x3ff or sm:0-19", mask));
	if (numbers->empty())
		throw Error(Error::Input, fmt::format("--within \"{}\": the mask is empty", mask));
	std::sort(numbers->begin(), numbers->end());
	numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
	within.mask =
		fmt::format("{}{} {}", by_sm ? "SM" : "TPC", numbers->size() == 1 ? "" : "s", format_ranges(*numbers));
	within.allowed.resize(log.machine.sms);
	for (u32 number : *numbers)
		for (u32 sm = number * per_number; sm < (number + 1) * per_number; sm++) {
			if (known && sm >= log.machine.sms)
				throw Error(Error::Input,
					    fmt::format("--within \"{}\": there is no {} {}: the log's GPU has {} SMs",
							mask, by_sm ? "SM" : "TPC", number, log.machine.sms));
			if (sm < log.machine.sms)
				within.allowed[sm] = true;
		}
	for (const Ran &k : log.kernels)
		for (const Block &b : k.blocks) {
			within.blocks++;
			used[b.sm] = true;
			if (within.allowed[b.sm])
				continue;
			Outside &o = outside[b.sm];
			o.first_start = o.blocks ? std::min(o.first_start, b.start) : b.start;
			o.last_end = o.blocks ? std::max(o.last_end, b.end) : b.end;
			o.sm = b.sm;
			o.blocks++;
			if (o.kernels.empty() || o.kernels.back() != k.name)
				o.kernels.push_back(k.name);
		}
	within.used = static_cast<u32>(std::count(used.begin(), used.end(), true));
	for (auto &[sm, o] : outside)
		within.outside.push_back(std::move(o));
	return within;
}

std::string within_text(const Within &within)
{
	std::string text;
	u32 blocks = 0;
	auto plural = [](size_t count) { return count == 1 ? "" : "s"; };

	for (const Outside &o : within.outside) {
		text += fmt::format("SM {} (TPC {}) is outside of {}: {} block{} of {}, from {:.6f} s to {:.6f} s\n",
				    o.sm, o.sm / within.sms_per_tpc, within.mask, o.blocks, plural(o.blocks),
				    kernels_text(o.kernels), static_cast<double>(o.first_start) / 1e9,
				    static_cast<double>(o.last_end) / 1e9);
		blocks += o.blocks;
	}
	text += fmt::format("{} block{} on {} SM{}, within {}: ", within.blocks, plural(within.blocks), within.used,
			    plural(within.used), within.mask);
	return text + (blocks ? fmt::format("{} block{} on {} SM{} outside\n", blocks, plural(blocks),
					    within.outside.size(), plural(within.outside.size()))
			      : "none outside\n");
}

json within_json(const Within &within)
{
	json list = json::array();

	for (const Outside &o : within.outside)
		list.push_back({{"sm", o.sm},
				{"tpc", o.sm / within.sms_per_tpc},
				{"blocks", o.blocks},
				{"kernels", o.kernels},
				{"first_start", static_cast<double>(o.first_start) / 1e9},
				{"last_end", static_cast<double>(o.last_end) / 1e9}});
	return {{"mask", within.mask},
		{"sms", list_of(within.allowed)},
		{"used", within.used},
		{"blocks", within.blocks},
		{"outside", list}};
}

} // namespace tool::blocks
