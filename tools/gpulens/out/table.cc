// SPDX-License-Identifier: GPL-2.0
// Paints, aligns and wraps text.
#include "gpulens/out/table.hpp"

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <langinfo.h>
#include <numeric>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tool {

std::string Style::paint(Ink ink, const std::string &text) const
{
	// ECMA-48, SGR. Magenta can be read on white and on black; yellow cannot on white.
	static const char *const codes[] = {"", "2", "1", "32", "35", "31"};

	if (!colour || ink == Ink::None || text.empty())
		return text;
	return std::string("\033[") + codes[static_cast<int>(ink)] + "m" + text + "\033[0m";
}

Style style_of_output(When colour, bool wide)
{
	const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
	bool terminal = isatty(STDOUT_FILENO);
	winsize size{};
	Style s;

	std::setlocale(LC_CTYPE, "");
	s.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	s.colour = colour == When::Always || (colour == When::Auto && terminal && !(no_color && *no_color) && term &&
					      std::strcmp(term, "dumb") != 0);
	if (terminal && !wide && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		s.width = size.ws_col;
	return s;
}

Table::Table(const std::vector<std::string> &titles)
{
	for (const std::string &t : titles) {
		Column c;
		size_t at = 0;
		c.optional = t[at] == '~';
		at += c.optional;
		c.left = t[at] == '<';
		at += c.left;
		c.title = t.substr(at);
		c.width = c.title.size();
		columns_.push_back(std::move(c));
	}
}

void Table::add(std::vector<Cell> cells)
{
	cells.resize(columns_.size(), Cell(""));
	for (size_t i = 0; i < cells.size(); i++)
		columns_[i].width = std::max(columns_[i].width, cells[i].text.size());
	rows_.push_back(std::move(cells));
}

std::string Table::str(const Style &style, const std::string &indent) const
{
	std::string out, left_out;
	std::vector<size_t> shown(columns_.size());
	size_t width = indent.size() + 2 * (columns_.size() - 1);

	std::iota(shown.begin(), shown.end(), 0);
	for (const Column &c : columns_)
		width += c.width;
	for (size_t i = columns_.size(); i-- > 0 && style.width && width > style.width;) {
		if (!columns_[i].optional)
			continue;
		std::erase(shown, i);
		width -= columns_[i].width + 2;
		left_out.insert(0, columns_[i].title + (left_out.empty() ? "" : ", "));
	}
	auto line = [&](auto cell_of, Ink whole) {
		std::string row = indent;
		for (size_t i : shown) {
			const Cell &cell = cell_of(i);
			std::string pad(columns_[i].width - cell.text.size(), ' ');
			std::string painted = style.paint(whole == Ink::None ? cell.ink : whole, cell.text);
			if (i != shown.front())
				row += "  ";
			row += columns_[i].left ? painted + pad : pad + painted;
		}
		while (!row.empty() && row.back() == ' ') // no blanks at the end of a line
			row.pop_back();
		out += row + '\n';
	};

	line([&](size_t i) { return Cell(columns_[i].title); }, Ink::Bold);
	for (const std::vector<Cell> &r : rows_)
		line([&](size_t i) { return r[i]; }, Ink::None);
	if (!left_out.empty())
		out += indent +
		       style.paint(Ink::Dim, wrap_text("with --wide also: " + left_out, style.width, indent + "  ")) +
		       '\n';
	return out;
}

std::string wrap_text(const std::string &text, size_t width, const std::string &indent)
{
	std::istringstream in(text);
	std::string out, word;
	size_t column = 0;

	while (in >> word) {
		if (width && column && column + 1 + word.size() > width) {
			out += '\n' + indent;
			column = indent.size();
		} else if (column) {
			out += ' ';
			column++;
		}
		out += word;
		column += word.size();
	}
	return out;
}

std::string notes_text(const std::vector<std::string> &notes, const Style &style)
{
	std::string text;

	for (const std::string &note : notes)
		text += wrap_text("Note: " + note, style.width, "  ") + '\n';
	return text;
}

} // namespace tool
