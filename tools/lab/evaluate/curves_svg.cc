// SPDX-License-Identifier: GPL-2.0
// Draws an evaluation: a panel for each number of tasks, with axes, curves and markers.
#include "lab/evaluate/evaluate.hpp"

#include "gpulens/out/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

// Pixels.
constexpr double AXES_WIDTH = 560, AXES_HEIGHT = 260; // of a panel
constexpr double LEFT_MARGIN = 62, TOP_MARGIN = 34, PANEL_GAP = 84, RIGHT_MARGIN = 118, BOTTOM_MARGIN = 8;
constexpr u32 SHARE_STEPS = 5; // of the vertical axis, from 0 to 100 %

const char STYLE_ELEMENT[] = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #222; }
.title { font-weight: 600; }
.grid { stroke: #8885; stroke-width: 1; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) { .paper { fill: #181818; } text { fill: #ddd; } }
</style>
)";

// In the order of all_ways().
const char *const WAY_COLOURS[] = {palette::BLUE,  palette::SKY_BLUE, palette::VERMILLION, palette::ORANGE,
				   palette::GREY,  palette::GREEN,    palette::PURPLE,     palette::DARK_YELLOW,
				   palette::GREEN, palette::PURPLE,   palette::DARK_YELLOW};

// Markers differ in shape and are not filled, so that all are visible where curves overlap.
std::string draw_marker(size_t way, double x, double y)
{
	const char *const shapes[] = {"M-4 -4H4V4H-4Z",
				      "M0 -5L5 0L0 5L-5 0Z",
				      "M-4.5 4L0 -4.5L4.5 4Z",
				      "M-4.5 -4L0 4.5L4.5 -4Z",
				      "M-4 -4L4 4M-4 4L4 -4",
				      "M-5 0H5M0 -5V5",
				      "M-4 0H4",
				      "M0 -4V4",
				      "M-4 -2H4M-4 2H4",
				      "M-2 -4V4M2 -4V4",
				      "M-4 4L0 -4L4 4"};

	return fmt::format("<path d=\"{}\" transform=\"translate({:.1f} {:.1f})\" fill=\"none\" stroke=\"{}\" "
			   "stroke-width=\"1.5\"/>",
			   shapes[way], x, y, WAY_COLOURS[way]);
}

// The position of a panel and the range of its horizontal axis. x() and y() convert a utilization and a share to
// pixels.
struct Panel {
	double top, from, to;

	double x(double u) const { return LEFT_MARGIN + (to > from ? (u - from) / (to - from) : 0.5) * AXES_WIDTH; }
	double y(double share) const { return top + (1 - share) * AXES_HEIGHT; }
};

std::string draw_axes(const Panel &panel, const std::string &title)
{
	std::string out = svg_text("start", LEFT_MARGIN, panel.top - 12, title, " class=\"title\"");
	double step = grid_step(panel.to - panel.from, 1, 10);

	for (u32 i = 0; i <= SHARE_STEPS; i++) {
		double share = double(i) / SHARE_STEPS;
		out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", LEFT_MARGIN, panel.y(share),
				   AXES_WIDTH);
		out += svg_text("end", LEFT_MARGIN - 8, panel.y(share) + 4, fmt::format("{:.0f} %", share * 100));
	}
	for (u32 i = static_cast<u32>(std::ceil(panel.from / step)); i * step <= panel.to; i++) {
		double u = i * step;
		out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", panel.x(u), panel.top,
				   AXES_HEIGHT);
		out += svg_text("middle", panel.x(u), panel.top + AXES_HEIGHT + 18, fmt::format("{:g}", u));
	}
	return out +
	       svg_text("middle", LEFT_MARGIN + AXES_WIDTH / 2, panel.top + AXES_HEIGHT + 38, "total utilization");
}

std::string draw_curves(const Panel &panel, const Results &results, const Experiment &e)
{
	std::vector<double> us = results.evaluation.utilizations();
	std::vector<std::string> all = all_ways();
	u32 sets = results.evaluation.sets;
	std::string out;

	for (size_t i = 0; i < results.evaluation.ways.size(); i++) {
		const std::string &name = results.evaluation.ways[i];
		size_t way = size_t(std::find(all.begin(), all.end(), name) - all.begin());
		std::string points, marks, upper, lower;
		for (size_t k = 0; k < us.size(); k++) {
			double x = panel.x(us[k]), y = panel.y(double(e.points[k][i].fits) / sets);
			auto [low, high] = confidence_of(e.points[k][i].fits, sets);
			points += fmt::format("{}{:.1f},{:.1f}", k ? " " : "", x, y);
			upper += fmt::format("{:.1f},{:.1f} ", x, panel.y(high));
			lower = fmt::format("{:.1f},{:.1f} ", x, panel.y(low)) + lower;
			marks += draw_marker(way, x, y);
		}
		double line = panel.top + 12 + 22 * double(i);
		out += fmt::format("<g id=\"n{}-{}\">\n<polygon fill=\"{}\" fill-opacity=\".12\" points=\"{}\"/>\n"
				   "<polyline class=\"curve\" stroke=\"{}\" points=\"{}\"/>\n{}\n</g>\n",
				   e.tasks, name, WAY_COLOURS[way], upper + lower, WAY_COLOURS[way], points, marks);
		out += draw_marker(way, LEFT_MARGIN + AXES_WIDTH + 20, line - 4) +
		       svg_text("start", LEFT_MARGIN + AXES_WIDTH + 34, line, name);
	}
	return out;
}

} // namespace

std::string curves_svg(const Results &results)
{
	double width = LEFT_MARGIN + AXES_WIDTH + RIGHT_MARGIN;
	double height = TOP_MARGIN + double(results.experiments.size()) * (AXES_HEIGHT + PANEL_GAP) + BOTTOM_MARGIN;
	std::vector<double> us = results.evaluation.utilizations();
	std::string out = svg_head(width, height, "Sets of tasks that fit, by total utilization", STYLE_ELEMENT);

	for (size_t i = 0; i < results.experiments.size(); i++) {
		Panel panel{TOP_MARGIN + 10 + double(i) * (AXES_HEIGHT + PANEL_GAP), us.front(), us.back()};
		out += draw_axes(panel, fmt::format("{} tasks on {} TPCs, {} sets a point, {}",
						    results.experiments[i].tasks, results.evaluation.tpcs,
						    results.evaluation.sets, criterion_name(results.evaluation.test)));
		out += draw_curves(panel, results, results.experiments[i]);
	}
	return out + "</svg>\n";
}

} // namespace tool::plan
