// SPDX-License-Identifier: GPL-2.0
// Splits lines into cells, and checks them.
#include "gpulens/plan/samples.hpp"

#include "gpulens/plan/task.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"
#include "lib/base/json_input.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace tool::plan {

namespace {

constexpr char BYTE_ORDER_MARK[] = "\xef\xbb\xbf"; // of UTF-8

struct Columns {
	static constexpr size_t MISSING = ~size_t{0};
	size_t task = MISSING, tpcs = MISSING, time_us = MISSING, conflict = MISSING, beside = MISSING, count = 0;
};

std::string trim_cell(const std::string &cell)
{
	size_t from = cell.find_first_not_of(" \t"), to = cell.find_last_not_of(" \t");

	return from == std::string::npos ? "" : cell.substr(from, to - from + 1);
}

// Splits a line of RFC 4180, but for quoted ends of lines. where: of the line, for messages.
std::vector<std::string> split_line(std::string line, const std::string &where)
{
	std::vector<std::string> cells(1);
	bool quoted = false;

	if (!line.empty() && line.back() == '\r')
		line.pop_back();
	for (size_t i = 0; i < line.size(); i++) {
		char c = line[i];
		if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
			cells.back() += line[++i];
		else if (quoted && c == '"')
			quoted = false;
		else if (!quoted && c == '"' && trim_cell(cells.back()).empty())
			quoted = true;
		else if (!quoted && c == ',')
			cells.emplace_back();
		else
			cells.back() += c;
	}
	if (quoted)
		throw Error(Error::Input, where + ": a quoted value does not end");
	for (std::string &cell : cells)
		cell = trim_cell(cell);
	return cells;
}

Columns parse_titles(const std::string &line, const std::string &where)
{
	std::vector<std::string> titles = split_line(line, where);
	Columns c;

	for (size_t i = 0; i < titles.size(); i++) {
		size_t *column = titles[i] == "task"       ? &c.task
				 : titles[i] == "tpcs"     ? &c.tpcs
				 : titles[i] == "time_us"  ? &c.time_us
				 : titles[i] == "conflict" ? &c.conflict
				 : titles[i] == "beside"   ? &c.beside
							   : nullptr;
		if (!column || *column != Columns::MISSING)
			throw Error(
				Error::Input,
				fmt::format("{}: column {} is {}", where, quote_value(titles[i]),
					    column ? "given twice" : "none of task, tpcs, time_us, conflict, beside"));
		*column = i;
	}
	for (auto [column, title] : {std::pair(c.task, "task"), {c.tpcs, "tpcs"}, {c.time_us, "time_us"}})
		if (column == Columns::MISSING)
			throw Error(Error::Input, fmt::format("{}: column \"{}\" is missing", where, title));
	c.count = titles.size();
	return c;
}

// Returns nullopt if the text is not a number as a whole.
std::optional<double> parse_number(const std::string &text)
{
	double v = 0;
	auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), v);

	return err == std::errc() && end == text.data() + text.size() ? std::optional(v) : std::nullopt;
}

u32 parse_tpcs(const std::string &cell, const std::string &where)
{
	std::optional<double> tpcs = parse_number(cell);

	if (!tpcs || !(*tpcs >= 1) || !(*tpcs <= MAX_TPCS) || *tpcs != std::floor(*tpcs))
		throw Error(Error::Input, fmt::format("{}: tpcs is {}, not a number from 1 to {}", where,
						      quote_value(cell), MAX_TPCS));
	return static_cast<u32>(*tpcs);
}

double parse_time(const std::string &cell, const std::string &where)
{
	std::optional<double> us = parse_number(cell);

	if (!us || !(*us > 0))
		throw Error(Error::Input,
			    fmt::format("{}: time_us is {}, not microseconds above 0", where, quote_value(cell)));
	if (*us < MIN_US || *us > MAX_US)
		throw Error(Error::Input, fmt::format("{}: time_us is {}, not microseconds from {} to {}", where,
						      quote_value(cell), MIN_US, MAX_US));
	return *us;
}

// Returns the times that the line belongs to.
Times &find_times(Samples &samples, const std::vector<std::string> &cells, const Columns &c, const std::string &where)
{
	std::string conflict = c.conflict == Columns::MISSING ? "0" : cells[c.conflict];
	std::string beside = c.beside == Columns::MISSING || cells[c.beside].empty() ? "none" : cells[c.beside];

	if (conflict != "0" && conflict != "1")
		throw Error(Error::Input, fmt::format("{}: conflict is {}, not 0 or 1", where, quote_value(conflict)));
	if (beside != "none" && beside != "memory" && beside != "compute")
		throw Error(Error::Input,
			    fmt::format("{}: beside is {}, not none, memory or compute", where, quote_value(beside)));
	if (conflict == "1" && beside != "none")
		throw Error(Error::Input,
			    where + ": both in conflict and beside another partition; measure them apart");
	return conflict == "1"       ? samples.conflict
	       : beside == "memory"  ? samples.beside_memory
	       : beside == "compute" ? samples.beside_compute
				     : samples.alone;
}

} // namespace

std::vector<Samples> parse_samples(const std::string &csv, const std::string &name)
{
	std::istringstream in(csv.starts_with(BYTE_ORDER_MARK) ? csv.substr(3) : csv);
	std::unordered_map<std::string, size_t> index;
	std::vector<Samples> all;
	std::string line;
	Columns columns;

	for (u32 n = 1; std::getline(in, line); n++) {
		std::string where = fmt::format("{}: line {}", name, n);
		if (line.find_first_not_of(" \t\r") == std::string::npos)
			continue;
		if (!columns.count) {
			columns = parse_titles(line, where);
			continue;
		}
		std::vector<std::string> cells = split_line(line, where);
		if (cells.size() != columns.count)
			throw Error(Error::Input, fmt::format("{}: {} values, but there are {} columns", where,
							      cells.size(), columns.count));
		const std::string &task = cells[columns.task];
		if (!is_plain_word(task))
			throw Error(Error::Input, where + ": task is empty, or not of printable ASCII without blanks");
		u32 tpcs = parse_tpcs(cells[columns.tpcs], where);
		double us = parse_time(cells[columns.time_us], where);
		if (index.emplace(task, all.size()).second)
			all.push_back({.task = task, .alone{}, .conflict{}, .beside_memory{}, .beside_compute{}});
		Samples &samples = all[index[task]];
		Times &times = find_times(samples, cells, columns, where);
		times[tpcs] = std::max(times[tpcs], us);
		if (&times == &samples.alone)
			samples.alone_each[tpcs].push_back(us);
	}
	if (all.empty())
		throw Error(Error::Input, name + ": no times");
	return all;
}

} // namespace tool::plan
