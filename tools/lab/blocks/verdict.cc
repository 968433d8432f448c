// SPDX-License-Identifier: GPL-2.0
// Prints what check() found.
#include "lab/blocks/check.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::blocks {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t MAX_SHOWN_VIOLATIONS = 100; // as text

} // namespace

std::string verdict_text(const Log &log, const Verdict &v)
{
	std::string out;

	for (size_t i = 0; i < std::min(v.violations.size(), MAX_SHOWN_VIOLATIONS); i++)
		out += fmt::format("Rule {}: {}\n", v.violations[i].rule, v.violations[i].text);
	if (v.violations.size() > MAX_SHOWN_VIOLATIONS)
		out += fmt::format("... and {} more\n", v.violations.size() - MAX_SHOWN_VIOLATIONS);
	out += notes_text(v.notes, {});
	return out + fmt::format("{} kernel{} in {} stream{}, tolerance {}: {}\n", log.kernels.size(),
				 log.kernels.size() == 1 ? "" : "s", log.streams.size(),
				 log.streams.size() == 1 ? "" : "s", format_duration(v.tolerance_ns),
				 v.violations.empty() ? "no rule is violated"
						      : fmt::format("{} violation{}", v.violations.size(),
								    v.violations.size() == 1 ? "" : "s"));
}

json verdict_json(const Verdict &v)
{
	json list = json::array();

	for (const Violation &violation : v.violations)
		list.push_back({{"rule", violation.rule},
				{"kernel", violation.kernel},
				{"block", violation.block ? json(*violation.block) : json(nullptr)},
				{"sm", violation.sm ? json(*violation.sm) : json(nullptr)},
				{"at", static_cast<double>(violation.at) / 1e9},
				{"text", violation.text}});
	return {{"tolerance_ns", v.tolerance_ns},
		{"order_checked", v.order_checked},
		{"violations", list},
		{"notes", v.notes}};
}

} // namespace tool::blocks
