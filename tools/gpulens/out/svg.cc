// SPDX-License-Identifier: GPL-2.0
// Writes SVG elements and escapes text.
#include "gpulens/out/svg.hpp"

#include "lib/base/format.hpp"

#include <fmt/format.h>

namespace tool {

std::string escape_xml(const std::string &text)
{
	std::string escaped;

	for (char c : text) {
		switch (c) {
		case '<': escaped += "&lt;"; break;
		case '>': escaped += "&gt;"; break;
		case '&': escaped += "&amp;"; break;
		case '"': escaped += "&quot;"; break;
		default: escaped += c;
		}
	}
	return escaped;
}

std::string svg_head(double width, double height, const std::string &title, const char *style)
{
	return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
			   "width=\"{0:.0f}\" height=\"{1:.0f}\">\n<title>{2}</title>\n{3}<rect class=\"paper\" "
			   "width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
			   width, height, escape_xml(replace_controls(title)), style);
}

std::string svg_text(const char *anchor, double x, double y, const std::string &text, const char *attributes)
{
	return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, attributes,
			   escape_xml(replace_controls(text)));
}

double grid_step(double length, double step, double max_count)
{
	for (unsigned i = 0; length / step > max_count; i++)
		step *= i % 3 == 1 ? 2.5 : 2;
	return step;
}

} // namespace tool
