// SPDX-License-Identifier: GPL-2.0
// Prints tables of times as text, JSON, CSV and as a drawing.
#include "gpulens/out/axes.hpp"
#include "lab/experiment/report.hpp"
#include "lab/experiment/table.hpp"
#include "gpulens/measure/interval.hpp"
#include "gpulens/out/svg.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;
using measure::Interval;
using measure::interval_of;

namespace {

struct Statistics {
	double mean, least, greatest, deviation;
	std::optional<double> half_width;

	explicit Statistics(const std::vector<double> &ms)
	{
		Interval interval = interval_of(ms);
		double squares = 0;

		mean = interval.mean;
		half_width = interval.half_width;
		least = *std::min_element(ms.begin(), ms.end());
		greatest = *std::max_element(ms.begin(), ms.end());
		for (double value : ms)
			squares += (value - mean) * (value - mean);
		deviation = std::sqrt(squares / static_cast<double>(ms.size()));
	}
	json to_json(size_t jobs, u32 tpcs) const
	{
		return {{"tpcs", tpcs},
			{"jobs", jobs},
			{"mean_ms", mean},
			{"half_width_ms", half_width ? json(*half_width) : json(nullptr)},
			{"min_ms", least},
			{"max_ms", greatest},
			{"deviation_ms", deviation}};
	}
};

const char *placing_word(const Setup &setup)
{
	return setup.placing == plan::Placing::Packed ? "packed" : "distributed";
}

std::string table_title(const TimeTable &table)
{
	return "RTAS'23, " + title_of(table.experiment, table.gpu, table.simulated, table.without) + ": " + table.job;
}

// The rows of a curve of fig13.
std::vector<const Row *> rows_of(const TimeTable &table, plan::Placing placing, bool two)
{
	std::vector<const Row *> rows;

	for (const Row &row : table.rows)
		if (row.setup.placing == placing && (row.setup.other_tpcs > 0) == two && !row.ms.empty())
			rows.push_back(&row);
	return rows;
}

std::string draw_sizes(const TimeTable &table, Axes axes)
{
	std::string out = axes.frame("mean time of a job", "TPCs of each instance", "ms");
	size_t index = 0;

	for (plan::Placing placing : {plan::Placing::Packed, plan::Placing::Distributed})
		for (bool two : {false, true}) {
			std::vector<std::pair<double, double>> points;
			for (const Row *row : rows_of(table, placing, two))
				points.emplace_back(row->setup.tpcs, Statistics(row->ms).mean);
			out += axes.line(points, curve_colour(index)) +
			       axes.legend(index,
					   fmt::format("{}, {}",
						       placing == plan::Placing::Packed ? "packed" : "distributed",
						       two ? "two instances" : "one instance"),
					   curve_colour(index));
			index++;
		}
	return out;
}

// A marker with a whisker from least to greatest for each setup and instance.
std::string draw_setups(const TimeTable &table, Axes axes, double top)
{
	std::string out = axes.frame("mean, least and greatest time of a job", "", "ms");

	for (size_t i = 0; i < table.rows.size(); i++) {
		const Row &row = table.rows[i];
		double at = static_cast<double>(i) + 0.5;
		for (bool other : {false, true}) {
			const std::vector<double> &ms = other ? row.other_ms : row.ms;
			if (ms.empty())
				continue;
			Statistics s(ms);
			out += axes.marker(at + (other ? 0.1 : -0.1), s.mean, s.least, s.greatest, curve_colour(other));
		}
		out += svg_text("middle", axes.x(at), top + PANEL_HEIGHT + 36, row.setup.name.substr(0, 24),
				" class=\"small\"");
	}
	return out + axes.legend(0, "instance A", curve_colour(0)) + axes.legend(1, "instance B", curve_colour(1));
}

} // namespace

std::string table_text(const TimeTable &table, const Verdict &verdict, const Style &style)
{
	Table out({"<Setup", "<Instance", "TPCs", "Jobs", "Mean ms", "+/- ms", "Min ms", "Max ms", "Deviation"});

	for (const Row &row : table.rows)
		for (bool other : {false, true}) {
			const std::vector<double> &ms = other ? row.other_ms : row.ms;
			if (ms.empty())
				continue;
			Statistics s(ms);
			out.add({row.setup.name, other ? "B" : "A",
				 std::to_string(other ? row.setup.other_tpcs : row.setup.tpcs),
				 std::to_string(ms.size()), fmt::format("{:.3f}", s.mean),
				 s.half_width ? fmt::format("{:.3f}", *s.half_width) : "-",
				 fmt::format("{:.3f}", s.least), fmt::format("{:.3f}", s.greatest),
				 fmt::format("{:.3f}", s.deviation)});
		}
	std::string text = replace_controls(table_title(table)) + '\n' + out.str(style);
	text += notes_text(table.notes, style);
	return text + verdict.also + (verdict.also.empty() ? "" : "\n") + verdict_line(verdict) + '\n';
}

json table_json(const TimeTable &table, const Verdict &verdict)
{
	json rows = json::array();

	for (const Row &row : table.rows)
		rows.push_back(
			{{"setup", row.setup.name},
			 {"placing", placing_word(row.setup)},
			 {"settled", row.settled},
			 {"a",
			  row.ms.empty() ? json(nullptr) : Statistics(row.ms).to_json(row.ms.size(), row.setup.tpcs)},
			 {"b", row.other_ms.empty()
				       ? json(nullptr)
				       : Statistics(row.other_ms).to_json(row.other_ms.size(), row.setup.other_tpcs)}});
	json out = result_head(table, verdict);

	out["job"] = table.job;
	out["within"] = table.within;
	out["rows"] = rows;
	out["notes"] = table.notes;
	if (!verdict.also.empty())
		out["notes"].push_back(verdict.also);
	return out;
}

std::string table_csv(const TimeTable &table)
{
	std::string text = "experiment,setup,instance,tpcs,placing,run,ms\n";

	for (const Row &row : table.rows)
		for (bool other : {false, true}) {
			const std::vector<double> &ms = other ? row.other_ms : row.ms;
			for (size_t i = 0; i < ms.size(); i++)
				text += fmt::format("{},\"{}\",{},{},{},{},{:.6f}\n", table.experiment, row.setup.name,
						    other ? "B" : "A", other ? row.setup.other_tpcs : row.setup.tpcs,
						    placing_word(row.setup), i + 1, ms[i]);
		}
	return text;
}

std::string table_svg(const TimeTable &table, const Verdict &verdict)
{
	double y = 12, most = 0;
	std::string body = text_lines(table_title(table), y, " class=\"title\"") +
			   text_lines(verdict_line(verdict), y) +
			   (verdict.also.empty() ? "" : text_lines(verdict.also, y));
	double top = y + 40;

	for (const Row &row : table.rows)
		for (const std::vector<double> *ms : {&row.ms, &row.other_ms})
			for (double value : *ms)
				most = std::max(most, value);
	if (table.experiment == "fig13")
		body += draw_sizes(table, Axes(top, {0, table.tpcs}, {0, most}));
	else
		body += draw_setups(table, Axes(top, {0, static_cast<double>(table.rows.size())}, {0, most}), top);
	return svg_head(PICTURE_WIDTH, top + PANEL_PITCH, table_title(table), AXES_STYLE) + body + "</svg>\n";
}

} // namespace tool::experiment
