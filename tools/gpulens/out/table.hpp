// SPDX-License-Identifier: GPL-2.0
// Aligned columns, with colour on a terminal.
#pragma once
#include <string>
#include <vector>

namespace tool {

enum class Ink { None, Dim, Bold, Green, Magenta, Red };

struct Style {
	bool colour = false;
	bool utf8 = false; // tree lines can be drawn
	size_t width = 0;  // of the terminal; 0: no limit

	std::string paint(Ink ink, const std::string &text) const;
};

enum class When { Auto, Always, Never };
// Returns the style of standard output. Auto: colour on a terminal without NO_COLOR (no-color.org). UTF-8 by the locale.
// wide: lines are as long as they are.
Style style_of_output(When colour, bool wide);

struct Cell {
	Cell(std::string t, Ink i = Ink::None) : text(std::move(t)), ink(i) {}
	Cell(const char *t, Ink i = Ink::None) : text(t), ink(i) {}
	std::string text;
	Ink ink;
};

class Table {
public:
	// A column is right-aligned; left-aligned if its title begins with <. Where the table is wider than the terminal, columns
	// whose titles begin with ~ (before the <) are left out, the last ones first. Neither is printed.
	explicit Table(const std::vector<std::string> &titles);
	void add(std::vector<Cell> cells);
	bool empty() const { return rows_.empty(); }
	std::string str(const Style &style, const std::string &indent = "") const;

private:
	struct Column {
		std::string title{};
		bool optional = false, left = false;
		size_t width = 0;
	};

	std::vector<Column> columns_;
	std::vector<std::vector<Cell>> rows_;
};

// Wraps text to lines of at most width columns (0: one line); all but the first begin with indent.
std::string wrap_text(const std::string &text, size_t width, const std::string &indent);
// Returns a paragraph "Note: ..." for each note, wrapped to the terminal.
std::string notes_text(const std::vector<std::string> &notes, const Style &style);

} // namespace tool
