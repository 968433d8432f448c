// SPDX-License-Identifier: GPL-2.0
// A panel of a drawing: two linear axes with a grid, curves and a legend.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tool {

constexpr double PANEL_WIDTH = 760, PANEL_HEIGHT = 240, PANEL_LEFT = 74, PANEL_PITCH = 312, PICTURE_WIDTH = 1060;
// <style> of drawings with panels.
extern const char AXES_STYLE[];

class Axes {
public:
	// top: of the panel, pixels. Values beyond the ranges are drawn outside.
	Axes(double top, std::pair<double, double> x_range, std::pair<double, double> y_range);

	double x(double value) const;
	double y(double value) const;
	// Returns the grid, the labels of both axes and the title. x_label: empty: the horizontal axis has no numbers.
	std::string frame(const std::string &title, const std::string &x_label, const std::string &y_label) const;
	// Returns entry number index of the legend, right of the panel. colour: of its box.
	std::string legend(size_t index, const std::string &text, const std::string &colour) const;
	// Returns a line through the points, without those that would be within half a pixel.
	std::string line(const std::vector<std::pair<double, double>> &points, const std::string &colour) const;
	// Returns such a line that goes on level until the next point.
	std::string stairs(const std::vector<std::pair<double, double>> &points, const std::string &colour) const;
	// Returns a marker and, from low to high, a whisker.
	std::string marker(double at, double value, double low, double high, const std::string &colour) const;

private:
	double top_;
	std::pair<double, double> x_, y_;
};

// Returns the colour of curve number index.
const char *curve_colour(size_t index);
// Returns the text in lines, as elements, below y, which moves behind them. Breaks at blanks.
std::string text_lines(const std::string &text, double &y, const char *attributes = "");

} // namespace tool
