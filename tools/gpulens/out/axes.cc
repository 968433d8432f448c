// SPDX-License-Identifier: GPL-2.0
// Converts values to pixels, and writes elements.
#include "gpulens/out/axes.hpp"

#include "gpulens/out/svg.hpp"
#include "lib/base/format.hpp"

#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace tool {

namespace {

constexpr double LINE = 18, HEADROOM = 1.05;
constexpr size_t LETTERS = 140; // of a line of text, roughly
constexpr double GRID_LINES = 10, LEAST_STEP = 1e-6;

const char *const COLOURS[] = {palette::BLUE,   palette::ORANGE,     palette::GREEN,
			       palette::PURPLE, palette::VERMILLION, palette::SKY_BLUE};

} // namespace

const char AXES_STYLE[] = R"(<style>
text { font: 13px system-ui, sans-serif; fill: #222; }
.title { font-weight: 600; }
.small { font-size: 11px; }
.grid { stroke: #8885; stroke-width: 1; }
.curve { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
.shade { fill: #8883; }
@media (prefers-color-scheme: dark) { .paper { fill: #181818; } text { fill: #ddd; } }
</style>
)";

const char *curve_colour(size_t index)
{
	return COLOURS[index % std::size(COLOURS)];
}

std::string text_lines(const std::string &text, double &y, const char *attributes)
{
	std::string out, rest = replace_controls(text);

	while (!rest.empty()) {
		size_t blank = rest.size() > LETTERS ? rest.rfind(' ', LETTERS) : rest.size();
		size_t end = blank == rest.npos || !blank ? std::min(LETTERS, rest.size()) : blank;
		out += svg_text("start", 20, y += LINE, rest.substr(0, end), attributes);
		rest = rest.substr(std::min(rest.size(), blank == end ? end + 1 : end));
	}
	return out;
}

Axes::Axes(double top, std::pair<double, double> x_range, std::pair<double, double> y_range)
	: top_(top), x_(x_range), y_(y_range)
{
	y_.second *= HEADROOM;
	for (auto *range : {&x_, &y_})
		if (!(range->second > range->first))
			range->second = range->first + 1;
}

double Axes::x(double value) const
{
	return PANEL_LEFT + (value - x_.first) / (x_.second - x_.first) * PANEL_WIDTH;
}

double Axes::y(double value) const
{
	return top_ + (1 - (value - y_.first) / (y_.second - y_.first)) * PANEL_HEIGHT;
}

std::string Axes::frame(const std::string &title, const std::string &x_label, const std::string &y_label) const
{
	std::string out = svg_text("start", PANEL_LEFT, top_ - 8, title, " class=\"title\"");
	double bottom = top_ + PANEL_HEIGHT, step = grid_step(x_.second - x_.first, LEAST_STEP, GRID_LINES);

	// + 0.0: -0 would be printed as such.
	for (double i = std::ceil(x_.first / step - 1e-9) + 0.0; !x_label.empty() && i * step <= x_.second; i++) {
		out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", x(i * step), top_,
				   PANEL_HEIGHT + 4);
		out += svg_text("middle", x(i * step), bottom + 17, fmt::format("{:g}", i * step), " class=\"small\"");
	}
	step = grid_step(y_.second - y_.first, LEAST_STEP, GRID_LINES / 2);
	for (double i = std::ceil(y_.first / step - 1e-9) + 0.0; i * step <= y_.second; i++) {
		out += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", PANEL_LEFT, y(i * step),
				   PANEL_WIDTH);
		out += svg_text("end", PANEL_LEFT - 8, y(i * step) + 4, fmt::format("{:g}", i * step),
				" class=\"small\"");
	}
	out += svg_text("middle", PANEL_LEFT + PANEL_WIDTH / 2, bottom + 36, x_label);
	return out + svg_text("start", 8, top_ - 8, y_label, " class=\"small\"");
}

std::string Axes::legend(size_t index, const std::string &text, const std::string &colour) const
{
	double left = PANEL_LEFT + PANEL_WIDTH + 16, line = top_ + 12 + LINE * static_cast<double>(index);

	return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", left,
			   line - 10, colour) +
	       svg_text("start", left + 18, line, replace_controls(text));
}

std::string Axes::line(const std::vector<std::pair<double, double>> &points, const std::string &colour) const
{
	std::string path;
	double last_x = -1e9, last_y = -1e9;

	for (size_t i = 0; i < points.size(); i++) {
		double px = x(points[i].first), py = y(points[i].second);
		if (i && i + 1 < points.size() && std::abs(px - last_x) < 0.5 && std::abs(py - last_y) < 0.5)
			continue;
		path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px, py);
		last_x = px;
		last_y = py;
	}
	return path.empty() ? "" : fmt::format("<path class=\"curve\" stroke=\"{}\" d=\"{}\"/>\n", colour, path);
}

std::string Axes::stairs(const std::vector<std::pair<double, double>> &points, const std::string &colour) const
{
	std::vector<std::pair<double, double>> corners;

	for (auto [at, value] : points) {
		if (!corners.empty())
			corners.emplace_back(at, corners.back().second);
		corners.emplace_back(at, value);
	}
	return line(corners, colour);
}

std::string Axes::marker(double at, double value, double low, double high, const std::string &colour) const
{
	return fmt::format("<path class=\"whisker\" stroke=\"{0}\" d=\"M{1:.1f} {2:.1f}V{3:.1f}\"/>"
			   "<circle class=\"marker\" cx=\"{1:.1f}\" cy=\"{4:.1f}\" r=\"3.5\" fill=\"{0}\"/>\n",
			   colour, x(at), y(low), y(high), y(value));
}

} // namespace tool
