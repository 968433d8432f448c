// SPDX-License-Identifier: GPL-2.0
// Draws a report: the verdict, the evidence, the SMs of the GPU with those that the probe used, and bars of times.
#include "gpulens/measure/verify.hpp"

#include "gpulens/out/svg.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tool::measure {

namespace {

constexpr double WIDTH = 960, LEFT = 20, LINE = 18, CELL = 34, CELL_HEIGHT = 20, BAR_LEFT = 130, BAR_WIDTH = 560;
constexpr size_t COLUMNS = 26, LETTERS = 130; // letters of a line, roughly

const char STYLE_ELEMENT[] = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #222; }
.title { font-weight: 600; }
.small { font-size: 10px; }
.sm { stroke: #888; fill: #8881; }
.own { stroke: #0072b2; fill: #0072b222; }
.used { stroke: #0072b2; fill: #56b4e9; }
.outside { stroke: #d55e00; fill: #d55e00; }
.alone { fill: #0072b2; }
.beside { fill: #e69f00; }
@media (prefers-color-scheme: dark) { .paper { fill: #181818; } text { fill: #ddd; } }
</style>
)";

// Breaks at blanks.
std::vector<std::string> lines_of(const std::string &text)
{
	std::vector<std::string> lines;
	std::string rest = text;

	while (rest.size() > LETTERS) {
		size_t blank = rest.rfind(' ', LETTERS);
		size_t end = blank == rest.npos || !blank ? LETTERS : blank;
		lines.push_back(rest.substr(0, end));
		rest = rest.substr(blank == end ? end + 1 : end);
	}
	lines.push_back(rest);
	return lines;
}

class Picture {
public:
	explicit Picture(const Report &report) : report_(report) {}

	std::string draw()
	{
		add_text(fmt::format("{}: {}", finding_name(report_.verdict), report_.sentence), " class=\"title\"");
		for (const Evidence &e : report_.evidence)
			add_text(fmt::format("{}, {}: {}", e.name, finding_name(e.finding), e.text));
		y_ += LINE / 2;
		add_sms();
		if (report_.slowdowns.size() > 1)
			add_times();
		for (const std::string &note : report_.notes)
			add_text("Note: " + note);
		std::string title = fmt::format("{} on TPCs {} of {}", report_.subject,
						format_ranges(report_.limit.tpcs), report_.gpu);
		return svg_head(WIDTH, y_ + LINE, replace_controls(title), STYLE_ELEMENT) + body_ + "</svg>\n";
	}

private:
	void add_text(const std::string &text, const char *attributes = "")
	{
		for (const std::string &line : lines_of(replace_controls(text)))
			body_ += svg_text("start", LEFT, y_ += LINE, line, attributes);
	}

	// One cell for each SM, in the order of their numbers.
	void add_sms()
	{
		std::set<u32> used;

		for (const blocks::Ran &k : report_.log.kernels)
			for (const blocks::Block &b : k.blocks)
				used.insert(b.sm);
		add_text("SMs: in the partition (blue outline), with blocks of the probe (filled), outside with blocks "
			 "(red)");
		for (u32 sm = 0; sm < report_.sms; sm++) {
			bool own = sm < report_.within.allowed.size() && report_.within.allowed[sm],
			     ran = used.count(sm);
			const char *kind = own ? ran ? "used" : "own" : ran ? "outside" : "sm";
			const size_t column = sm % COLUMNS, row = sm / COLUMNS;
			double x = LEFT + CELL * static_cast<double>(column);
			double y = y_ + 8 + (CELL_HEIGHT + 4) * static_cast<double>(row);
			body_ += fmt::format(
				"<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
				"<title>SM {}, TPC {}</title></rect>\n",
				kind, x, y, CELL - 4, CELL_HEIGHT, sm, sm / 2);
			body_ += svg_text("middle", x + (CELL - 4) / 2, y + 14, std::to_string(sm), " class=\"small\"");
		}
		const size_t rows = (report_.sms + COLUMNS - 1) / COLUMNS;
		y_ += 8 + (CELL_HEIGHT + 4) * static_cast<double>(rows);
	}

	// A bar for each run.
	void add_times()
	{
		double longest = 1;

		for (const Slowdown &s : report_.slowdowns)
			for (double us : s.times_us)
				longest = std::max(longest, us);
		add_text(fmt::format("Time of {}, a bar for each run, ms", report_.timed));
		for (const Slowdown &s : report_.slowdowns) {
			y_ += 10;
			std::string name = s.neighbour.empty() ? "no neighbour" : s.neighbour;
			body_ += svg_text("end", BAR_LEFT - 8, y_ + 11,
					  s.factor ? fmt::format("{} {:.2f}x", name, *s.factor) : name);
			for (double us : s.times_us) {
				double width = us / longest * BAR_WIDTH;
				body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
						     "height=\"11\"/>\n",
						     s.neighbour.empty() ? "alone" : "beside", BAR_LEFT, y_, width);
				body_ += svg_text("start", BAR_LEFT + width + 6, y_ + 10,
						  fmt::format("{:.3f}", us / 1000), " class=\"small\"");
				y_ += 13;
			}
			if (!s.unknown.empty())
				add_text(s.unknown);
		}
		y_ += LINE / 2;
	}

	const Report &report_;
	std::string body_;
	double y_ = 12;
};

} // namespace

std::string report_svg(const Report &report)
{
	return Picture(report).draw();
}

} // namespace tool::measure
