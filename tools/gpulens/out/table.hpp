// SPDX-License-Identifier: GPL-2.0
// Text made for reading: columns that line up, colour where a terminal is.
#pragma once
#include <string>
#include <vector>

namespace tool {

enum class Ink { None, Dim, Bold, Green, Yellow, Red };

struct Style {
	bool colour = false;
	bool utf8 = false; // may tree lines be drawn?
	size_t width = 0;  // of the terminal; 0: no limit

	std::string paint(Ink ink, const std::string &text) const;
};

enum class When { Auto, Always, Never };
// Of standard output. Auto: a terminal and no NO_COLOR (no-color.org). UTF-8 by the locale.
Style style_of_output(When colour);

struct Cell {
	Cell(std::string t, Ink i = Ink::None) : text(std::move(t)), ink(i) {}
	Cell(const char *t, Ink i = Ink::None) : text(t), ink(i) {}
	std::string text;
	Ink ink;
};

class Table {
public:
	// A title that begins with < is set to the left, without it; others to the right.
	explicit Table(std::vector<std::string> titles);
	void add(std::vector<Cell> cells);
	bool empty() const { return rows_.empty(); }
	std::string str(const Style &style, const std::string &indent = "") const;

private:
	struct Column {
		std::string title;
		bool left;
		size_t width;
	};

	std::vector<Column> columns_;
	std::vector<std::vector<Cell>> rows_;
};

// Words in lines of at most width columns (0: one line), each but the first after indent.
std::string wrapped(const std::string &text, size_t width, const std::string &indent);

} // namespace tool
