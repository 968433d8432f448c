// SPDX-License-Identifier: GPL-2.0
// See curves_svg.hpp.
#include "gpulens/plan/curves_svg.hpp"

#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

namespace {

constexpr double WIDTH = 560, HEIGHT = 260;                            // of a panel's axes
constexpr double LEFT = 62, TOP = 34, GAP = 84, RIGHT = 118, FOOT = 8; // around them
constexpr u32 MARKS = 5;                                               // of the upright axis, from 0 to 100 %

const char STYLE[] = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #222; }
.title { font-weight: 600; }
.grid { stroke: #8885; stroke-width: 1; }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) { .paper { fill: #181818; } text { fill: #ddd; } }
</style>
)";

// Okabe and Ito's colours, which the colour-blind can tell apart; by all_heuristics().
const char *const COLOURS[] = {"#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#888888"};

// Of a heuristic, at x, y: they differ in shape too, and stay to be seen where curves lie on each other.
std::string marker(size_t heuristic, double x, double y)
{
	const char *const shapes[] = {"M-4 -4H4V4H-4Z", "M0 -5L5 0L0 5L-5 0Z", "M-4.5 4L0 -4.5L4.5 4Z",
				      "M-4.5 -4L0 4.5L4.5 -4Z", "M-4 -4L4 4M-4 4L4 -4"};

	return fmt::format("<path d=\"{}\" transform=\"translate({:.1f} {:.1f})\" fill=\"none\" stroke=\"{}\" "
			   "stroke-width=\"1.5\"/>\n",
			   shapes[heuristic], x, y, COLOURS[heuristic]);
}

std::string text(const char *anchor, double x, double y, const std::string &words, const char *more = "")
{
	return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
			   words);
}

// Where one panel is, and how U and share lie in it.
struct Panel {
	double top, from, to;

	double x(double u) const { return LEFT + (to > from ? (u - from) / (to - from) : 0.5) * WIDTH; }
	double y(double share) const { return top + (1 - share) * HEIGHT; }
};

std::string axes(const Panel &at, const std::string &title)
{
	std::string out = text("start", LEFT, at.top - 12, title, " class=\"title\"");
	double step = 1;

	// 1, 2, 5, 10, 20, 50, ...
	for (u32 i = 0; (at.to - at.from) / step > 10; i++)
		step *= i % 3 == 1 ? 2.5 : 2;
	for (u32 i = 0; i <= MARKS; i++) {
		double share = double(i) / MARKS;
		out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", LEFT, at.y(share), WIDTH);
		out += text("end", LEFT - 8, at.y(share) + 4, fmt::format("{:.0f} %", share * 100));
	}
	for (u32 i = static_cast<u32>(std::ceil(at.from / step)); i * step <= at.to; i++) {
		double u = i * step;
		out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", at.x(u), at.top, HEIGHT);
		out += text("middle", at.x(u), at.top + HEIGHT + 18, fmt::format("{:g}", u));
	}
	return out + text("middle", LEFT + WIDTH / 2, at.top + HEIGHT + 38, "total utilization");
}

std::string curves(const Panel &at, const Results &results, const Experiment &e)
{
	std::vector<double> us = results.of.utilizations();
	std::vector<Heuristic> heuristics = all_heuristics();
	std::string out;

	for (size_t h = 0; h < heuristics.size(); h++) {
		std::string points, marks;
		for (size_t i = 0; i < us.size(); i++) {
			double y = at.y(double(e.points[i][h].fits) / results.of.sets);
			points += fmt::format("{}{:.1f},{:.1f}", i ? " " : "", at.x(us[i]), y);
			marks += marker(h, at.x(us[i]), y);
		}
		double line = at.top + 12 + 22 * double(h);
		out += fmt::format(
			"<g id=\"n{}-{}\">\n<polyline class=\"curve\" stroke=\"{}\" points=\"{}\"/>\n{}</g>\n", e.tasks,
			heuristics[h].name(), COLOURS[h], points, marks);
		out += marker(h, LEFT + WIDTH + 20, line - 4) +
		       text("start", LEFT + WIDTH + 34, line, heuristics[h].name());
	}
	return out;
}

} // namespace

std::string curves_svg(const Results &results)
{
	double width = LEFT + WIDTH + RIGHT, height = TOP + double(results.experiments.size()) * (HEIGHT + GAP) + FOOT;
	std::vector<double> us = results.of.utilizations();
	std::string out = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
				      "width=\"{:.0f}\" height=\"{:.0f}\">\n<title>Sets of tasks that fit, by total "
				      "utilization</title>\n{}<rect class=\"paper\" width=\"100%\" height=\"100%\" "
				      "fill=\"#fff\"/>\n",
				      width, height, width, height, STYLE);

	for (size_t i = 0; i < results.experiments.size(); i++) {
		Panel at{TOP + 10 + double(i) * (HEIGHT + GAP), us.front(), us.back()};
		out += axes(at, fmt::format("{} tasks on {} TPCs, {} sets a point, {}", results.experiments[i].tasks,
					    results.of.tpcs, results.of.sets, criterion_name(results.of.test)));
		out += curves(at, results, results.experiments[i]);
	}
	return out + "</svg>\n";
}

} // namespace tool::plan
