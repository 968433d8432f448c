// SPDX-License-Identifier: GPL-2.0
// See fit.hpp.
#include "gpulens/plan/fit.hpp"

#include "gpulens/out/table.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <sstream>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr int VERSION = 1; // of the JSON

using Times = std::map<u32, double>; // longest by size

struct Measured {
	std::string name;
	Times alone, conflict;
};

/* -- the file -- */

struct Columns {
	static constexpr size_t NONE = ~size_t{0};
	size_t task = NONE, tpcs = NONE, time_us = NONE, conflict = NONE, count = 0;
};

std::vector<std::string> cells_of(std::string line)
{
	std::vector<std::string> cells(1);

	if (!line.empty() && line.back() == '\r')
		line.pop_back();
	for (char c : line)
		if (c == ',')
			cells.emplace_back();
		else
			cells.back() += c;
	for (std::string &cell : cells) {
		size_t from = cell.find_first_not_of(" \t"), to = cell.find_last_not_of(" \t");
		cell = from == std::string::npos ? "" : cell.substr(from, to - from + 1);
	}
	return cells;
}

Columns columns_of(const std::string &line, const std::string &where)
{
	std::vector<std::string> titles = cells_of(line);
	Columns c;

	for (size_t i = 0; i < titles.size(); i++) {
		size_t *to = titles[i] == "task"       ? &c.task
			     : titles[i] == "tpcs"     ? &c.tpcs
			     : titles[i] == "time_us"  ? &c.time_us
			     : titles[i] == "conflict" ? &c.conflict
						       : nullptr;
		if (!to || *to != Columns::NONE)
			throw BadInput(fmt::format("{}: column \"{}\" is {}", where, titles[i],
						   to ? "there twice" : "none of task, tpcs, time_us, conflict"));
		*to = i;
	}
	for (auto [at, title] : {std::pair(c.task, "task"), {c.tpcs, "tpcs"}, {c.time_us, "time_us"}})
		if (at == Columns::NONE)
			throw BadInput(fmt::format("{}: column \"{}\" is missing", where, title));
	c.count = titles.size();
	return c;
}

// All of the text as a number; nullopt: not one.
std::optional<double> number(const std::string &text)
{
	double v = 0;
	auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), v);

	return err == std::errc() && end == text.data() + text.size() ? std::optional(v) : std::nullopt;
}

void add_sample(std::vector<Measured> &all, const std::vector<std::string> &cells, const Columns &c,
		const std::string &where)
{
	const std::string &name = cells[c.task];
	std::optional<double> tpcs = number(cells[c.tpcs]), us = number(cells[c.time_us]);
	std::string conflict = c.conflict == Columns::NONE ? "0" : cells[c.conflict];

	if (name.empty() || std::any_of(name.begin(), name.end(), [](char ch) { return ch <= ' ' || ch > '~'; }))
		throw BadInput(where + ": task is empty, or not of printable ASCII without blanks");
	if (!tpcs || *tpcs < 1 || *tpcs > MAX_TPCS || *tpcs != std::floor(*tpcs))
		throw BadInput(
			fmt::format("{}: tpcs is \"{}\", not a number from 1 to {}", where, cells[c.tpcs], MAX_TPCS));
	if (!us || !(*us > 0) || !(*us <= double(MAX_TIME_NS) / 1000))
		throw BadInput(fmt::format("{}: time_us is \"{}\", not microseconds above 0", where, cells[c.time_us]));
	if (conflict != "0" && conflict != "1")
		throw BadInput(fmt::format("{}: conflict is \"{}\", not 0 or 1", where, conflict));
	auto at = std::find_if(all.begin(), all.end(), [&](const Measured &m) { return m.name == name; });
	if (at == all.end())
		at = all.insert(all.end(), Measured{name, {}, {}});
	double &longest = (conflict == "1" ? at->conflict : at->alone)[static_cast<u32>(*tpcs)];
	longest = std::max(longest, *us);
}

std::vector<Measured> parse(const std::string &csv, const std::string &name)
{
	std::istringstream in(csv);
	std::vector<Measured> all;
	std::string line;
	Columns columns;

	for (u32 n = 1; std::getline(in, line); n++) {
		std::string where = fmt::format("{}: line {}", name, n);
		if (line.find_first_not_of(" \t\r") == std::string::npos)
			continue;
		if (!columns.count) {
			columns = columns_of(line, where);
			continue;
		}
		std::vector<std::string> cells = cells_of(line);
		if (cells.size() != columns.count)
			throw BadInput(fmt::format("{}: {} values, and there are {} columns", where, cells.size(),
						   columns.count));
		add_sample(all, cells, columns, where);
	}
	if (all.empty())
		throw BadInput(name + ": no times");
	return all;
}

/* -- the model -- */

double at(const Curve &c, u32 m)
{
	return c.a_us / m + c.b_us;
}

// Least squares over x = 1 / m with neither below 0, then raised.
Curve curve_of(const Times &times)
{
	double n = double(times.size()), sx = 0, sy = 0, sxx = 0, sxy = 0;
	Curve c;

	for (auto [m, us] : times) {
		sx += 1.0 / m;
		sy += us;
		sxx += 1.0 / m / m;
		sxy += us / m;
	}
	c.a_us = (n * sxy - sx * sy) / (n * sxx - sx * sx);
	c.b_us = (sy - c.a_us * sx) / n;
	if (c.a_us < 0)
		c = {0, sy / n};
	else if (c.b_us < 0)
		c = {sxy / sxx, 0};
	for (auto [m, us] : times) {
		c.residual = std::max(c.residual, std::abs(us - at(c, m)) / us);
		c.raised_us = std::max(c.raised_us, us - at(c, m));
	}
	c.b_us += c.raised_us;
	return c;
}

u32 knee_of(const Times &times)
{
	double best = times.rbegin()->second; // of this size and all larger ones
	u32 knee = times.rbegin()->first;

	for (auto one = times.rbegin(); one != times.rend(); ++one) {
		best = std::min(best, one->second);
		if (best < one->second * (1 - KNEE_GAIN))
			break;
		knee = one->first;
	}
	return knee;
}

std::optional<u32> slower_from(const Times &times)
{
	std::optional<std::pair<u32, double>> least;

	for (auto [m, us] : times) {
		if (least && us > least->second * (1 + KNEE_GAIN))
			return least->first;
		if (!least || us < least->second)
			least = {m, us};
	}
	return std::nullopt;
}

Fit fit_of(const Measured &from, const std::string &file)
{
	Fit f;

	f.name = from.name;
	if (from.alone.size() < 2)
		throw BadInput(fmt::format("{}: task \"{}\": times alone with {} number{} of TPCs, and two are wanted",
					   file, from.name, from.alone.size(), from.alone.size() == 1 ? "" : "s"));
	f.alone = curve_of(from.alone);
	f.largest = from.alone.rbegin()->first;
	f.knee = knee_of(from.alone);
	f.kind = f.knee <= KNEE_SHARE * f.largest ? Class::Memory : Class::Compute;
	f.slower_from = slower_from(from.alone);
	for (auto [m, us] : from.conflict) {
		auto same = from.alone.find(m);
		double alone = same == from.alone.end() ? at(f.alone, m) : same->second;
		f.factor = std::max(f.factor.value_or(1), us / alone);
	}
	if (from.conflict.size() > 1)
		f.conflict = curve_of(from.conflict);
	return f;
}

json curve_json(const Curve &c)
{
	return {{"a_us", c.a_us}, {"b_us", c.b_us}, {"raised_us", c.raised_us}, {"residual", c.residual}};
}

} // namespace

std::vector<Fit> fit_samples(const std::string &csv, const std::string &name)
{
	std::vector<Fit> fits;

	for (const Measured &m : parse(csv, name))
		fits.push_back(fit_of(m, name));
	return fits;
}

std::string fit_text(const std::vector<Fit> &fits)
{
	Table t({"<Task", "<Class", "Knee", "Of", "<Curve", "a us", "b us", "Raised us", "Residual", "Factor"});
	std::string notes;

	for (const Fit &f : fits) {
		auto numbers = [](const Curve &c) {
			return std::vector<std::string>{fmt::format("{:.3f}", c.a_us), fmt::format("{:.3f}", c.b_us),
							fmt::format("{:.3f}", c.raised_us),
							fmt::format("{:.1f} %", c.residual * 100)};
		};
		auto row = [&](std::vector<Cell> cells, const Curve &c, const std::string &last) {
			for (const std::string &n : numbers(c))
				cells.emplace_back(n);
			cells.emplace_back(last);
			t.add(std::move(cells));
		};
		std::string factor = f.factor ? fmt::format("{:.3f}", *f.factor) : "";
		row({f.name, class_name(f.kind), std::to_string(f.knee), std::to_string(f.largest), "alone"}, f.alone,
		    f.conflict ? "" : factor);
		if (f.conflict)
			row({f.name, "", "", "", "conflict"}, *f.conflict, factor);
		if (f.slower_from)
			notes += fmt::format("Note: task \"{}\" takes longer with more than {} TPCs\n", f.name,
					     *f.slower_from);
	}
	return t.str({}) + notes;
}

json fit_json(const std::vector<Fit> &fits)
{
	json list = json::array();

	for (const Fit &f : fits)
		list.push_back({{"name", f.name},
				{"class", class_name(f.kind)},
				{"knee", f.knee},
				{"largest", f.largest},
				{"slower_from", f.slower_from ? json(*f.slower_from) : json(nullptr)},
				{"alone", curve_json(f.alone)},
				{"conflict", f.conflict ? curve_json(*f.conflict) : json(nullptr)},
				{"factor", f.factor ? json(*f.factor) : json(nullptr)}});
	return {{"version", VERSION}, {"command", "fit"}, {"tasks", list}};
}

} // namespace tool::plan
