// SPDX-License-Identifier: GPL-2.0
// Parts shared by the drawings of gpulens: escaping for XML and HTML, colours, and SVG elements.
#pragma once
#include <string>

namespace tool {

// Okabe and Ito's palette, which colour-blind people can distinguish, and two additions: a yellow that is dark enough
// on white, and a grey.
namespace palette {
constexpr char BLUE[] = "#0072b2", SKY_BLUE[] = "#56b4e9", GREEN[] = "#009e73", ORANGE[] = "#e69f00";
constexpr char VERMILLION[] = "#d55e00", PURPLE[] = "#cc79a7", YELLOW[] = "#f0e442";
constexpr char DARK_YELLOW[] = "#b3a500", GREY[] = "#888888";
} // namespace palette

// Replaces the characters < > & " by their entities, for text and for attribute values in double quotes.
std::string escape_xml(const std::string &text);

// Returns the start tag of a drawing of that size in pixels, its title, style (a <style> element) and a background of
// class "paper".
std::string svg_head(double width, double height, const std::string &title, const char *style);

// Returns a text element. x, y: position in pixels of the anchor ("start", "middle" or "end"); text: any text;
// attributes: further attributes, each with a leading blank.
std::string svg_text(const char *anchor, double x, double y, const std::string &text, const char *attributes = "");

// Returns the distance of grid lines: the smallest of step * 1, 2, 5, 10, 20, 50, ... that divides length into at most
// max_count parts.
double grid_step(double length, double step, double max_count);

} // namespace tool
