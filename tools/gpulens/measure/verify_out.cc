// SPDX-License-Identifier: GPL-2.0
// Prints reports as text and JSON.
#include "gpulens/measure/verify.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::measure {

using json = nlohmann::ordered_json;

namespace {

constexpr int VERIFY_JSON_VERSION = 1;

std::string ms_text(double us)
{
	return fmt::format("{:.3f}", us / 1000);
}

std::string neighbour_text(const Slowdown &s)
{
	return s.neighbour.empty() ? "none" : s.neighbour;
}

} // namespace

std::string report_text(const Report &report, const Style &style)
{
	std::string text = replace_controls(report.subject) + ": ";

	text += report.limit.tpcs.empty()
			? "no limit is known\n"
			: fmt::format("limited to TPCs {} of {}, in GPCs {}\n", format_ranges(report.limit.tpcs),
				      report.gpu, format_ranges(report.limit.gpcs));
	Table evidence({"<Evidence", "<Finding", "<What was seen"});
	bool shares = std::any_of(report.slowdowns.begin(), report.slowdowns.end(),
				  [](const Slowdown &s) { return s.neighbour_share.has_value(); });
	std::vector<std::string> titles = {"<Neighbour", "Runs", "Least ms", "Greatest ms", "Slow-down", "<"};

	if (shares)
		titles.insert(titles.end() - 1, "Its GPU time");
	Table times(titles);

	for (const Evidence &e : report.evidence)
		evidence.add({e.name, finding_name(e.finding), replace_controls(e.text)});
	text += evidence.str(style);
	for (const Slowdown &s : report.slowdowns) {
		auto [least, greatest] = std::minmax_element(s.times_us.begin(), s.times_us.end());
		bool any = !s.times_us.empty();
		std::vector<Cell> row = {neighbour_text(s), std::to_string(s.times_us.size()),
					 any ? ms_text(*least) : "-", any ? ms_text(*greatest) : "-",
					 s.factor ? fmt::format("{:.2f}", *s.factor) : "-"};
		if (shares)
			row.emplace_back(s.neighbour_share ? format_share(*s.neighbour_share, 0) + " %" : "-");
		row.emplace_back(replace_controls(s.unknown));
		times.add(row);
	}
	if (report.slowdowns.size() > 1)
		text += fmt::format("Times of {}; slow-down of the medians\n", report.timed) + times.str(style);
	for (const blocks::Outside &o : report.within.outside)
		text += fmt::format("Outside: SM {} (TPC {}), {} block{}\n", o.sm, o.sm / 2, o.blocks,
				    o.blocks == 1 ? "" : "s");
	text += notes_text(report.notes, style);
	return text + fmt::format("{}: {}\n", finding_name(report.verdict), replace_controls(report.sentence));
}

json report_json(const Report &report)
{
	json evidence = json::array(), slowdowns = json::array();

	for (const Evidence &e : report.evidence)
		evidence.push_back({{"name", e.name}, {"finding", finding_name(e.finding)}, {"text", e.text}});
	for (const Slowdown &s : report.slowdowns)
		slowdowns.push_back({{"neighbour", s.neighbour.empty() ? json(nullptr) : json(s.neighbour)},
				     {"times_us", s.times_us},
				     {"factor", s.factor ? json(*s.factor) : json(nullptr)},
				     {"neighbour_share", s.neighbour_share ? json(*s.neighbour_share) : json(nullptr)},
				     {"unknown", s.unknown.empty() ? json(nullptr) : json(s.unknown)}});
	return {{"version", VERIFY_JSON_VERSION},
		{"command", "verify"},
		{"subject", report.subject},
		{"gpu", report.gpu},
		{"tpcs", report.limit.tpcs},
		{"gpcs", report.limit.gpcs},
		{"verdict", finding_name(report.verdict)},
		{"sentence", report.sentence},
		{"evidence", evidence},
		{"probe", report.within.blocks ? within_json(report.within) : json(nullptr)},
		{"timed", report.timed},
		{"max_slowdown", report.max_slowdown},
		{"slowdowns", slowdowns},
		{"notes", report.notes}};
}

} // namespace tool::measure
