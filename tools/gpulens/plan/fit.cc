// SPDX-License-Identifier: GPL-2.0
// Parses measurements, fits curves by least squares, and prints them.
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

constexpr int JSON_VERSION = 1;

using Times = std::map<u32, double>; // longest time in us, by size in TPCs

struct Measured {
	std::string name;
	Times alone, conflict;
};

/* -- the file -- */

struct Columns {
	static constexpr size_t MISSING = ~size_t{0};
	size_t task = MISSING, tpcs = MISSING, time_us = MISSING, conflict = MISSING, count = 0;
};

std::vector<std::string> split_line(std::string line)
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

Columns parse_titles(const std::string &line, const std::string &where)
{
	std::vector<std::string> titles = split_line(line);
	Columns c;

	for (size_t i = 0; i < titles.size(); i++) {
		size_t *column = titles[i] == "task"       ? &c.task
				 : titles[i] == "tpcs"     ? &c.tpcs
				 : titles[i] == "time_us"  ? &c.time_us
				 : titles[i] == "conflict" ? &c.conflict
							   : nullptr;
		if (!column || *column != Columns::MISSING)
			throw Error(Error::Input,
				    fmt::format("{}: column \"{}\" is {}", where, titles[i],
						column ? "given twice" : "none of task, tpcs, time_us, conflict"));
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

void add_sample(std::vector<Measured> &all, const std::vector<std::string> &cells, const Columns &c,
		const std::string &where)
{
	const std::string &name = cells[c.task];
	std::optional<double> tpcs = parse_number(cells[c.tpcs]), us = parse_number(cells[c.time_us]);
	std::string conflict = c.conflict == Columns::MISSING ? "0" : cells[c.conflict];

	if (name.empty() || std::any_of(name.begin(), name.end(), [](char ch) { return ch <= ' ' || ch > '~'; }))
		throw Error(Error::Input, where + ": task is empty, or not of printable ASCII without blanks");
	if (!tpcs || *tpcs < 1 || *tpcs > MAX_TPCS || *tpcs != std::floor(*tpcs))
		throw Error(Error::Input, fmt::format("{}: tpcs is \"{}\", not a number from 1 to {}", where,
						      cells[c.tpcs], MAX_TPCS));
	if (!us || !(*us > 0) || !(*us <= double(MAX_TIME_NS) / 1000))
		throw Error(Error::Input,
			    fmt::format("{}: time_us is \"{}\", not microseconds above 0", where, cells[c.time_us]));
	if (conflict != "0" && conflict != "1")
		throw Error(Error::Input, fmt::format("{}: conflict is \"{}\", not 0 or 1", where, conflict));
	auto measured = std::find_if(all.begin(), all.end(), [&](const Measured &m) { return m.name == name; });
	if (measured == all.end())
		measured = all.insert(all.end(), Measured{name, {}, {}});
	double &longest = (conflict == "1" ? measured->conflict : measured->alone)[static_cast<u32>(*tpcs)];
	longest = std::max(longest, *us);
}

std::vector<Measured> parse_samples(const std::string &csv, const std::string &name)
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
			columns = parse_titles(line, where);
			continue;
		}
		std::vector<std::string> cells = split_line(line);
		if (cells.size() != columns.count)
			throw Error(Error::Input, fmt::format("{}: {} values, but there are {} columns", where,
							      cells.size(), columns.count));
		add_sample(all, cells, columns, where);
	}
	if (all.empty())
		throw Error(Error::Input, name + ": no times");
	return all;
}

/* -- the model -- */

// Returns the curve's time for m TPCs, us.
double time_at(const Curve &c, u32 m)
{
	return c.a_us / m + c.b_us;
}

// Least squares over x = 1 / m with a and b not negative, then b is raised.
Curve fit_curve(const Times &times)
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
		c.residual = std::max(c.residual, std::abs(us - time_at(c, m)) / us);
		c.raised_us = std::max(c.raised_us, us - time_at(c, m));
	}
	c.b_us += c.raised_us;
	return c;
}

u32 find_knee(const Times &times)
{
	double best = times.rbegin()->second; // of this size and all larger ones
	u32 knee = times.rbegin()->first;

	for (auto size = times.rbegin(); size != times.rend(); ++size) {
		best = std::min(best, size->second);
		if (best < size->second * (1 - KNEE_GAIN))
			break;
		knee = size->first;
	}
	return knee;
}

std::optional<u32> find_slower_from(const Times &times)
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

Fit fit_task(const Measured &measured, const std::string &file)
{
	Fit f;

	f.name = measured.name;
	if (measured.alone.size() < 2)
		throw Error(Error::Input,
			    fmt::format("{}: task \"{}\": times alone for {} size{}; at least two sizes are needed",
					file, measured.name, measured.alone.size(),
					measured.alone.size() == 1 ? "" : "s"));
	f.times_us = measured.alone;
	f.alone = fit_curve(measured.alone);
	f.largest = measured.alone.rbegin()->first;
	f.knee = find_knee(measured.alone);
	f.kind = f.knee <= KNEE_SHARE * f.largest ? Class::Memory : Class::Compute;
	f.slower_from = find_slower_from(measured.alone);
	for (auto [m, us] : measured.conflict) {
		auto same = measured.alone.find(m);
		double alone = same == measured.alone.end() ? time_at(f.alone, m) : same->second;
		f.factor = std::max(f.factor.value_or(1), us / alone);
	}
	if (measured.conflict.size() > 1)
		f.conflict = fit_curve(measured.conflict);
	return f;
}

json curve_json(const Curve &c)
{
	return {{"a_us", c.a_us}, {"b_us", c.b_us}, {"raised_us", c.raised_us}, {"residual", c.residual}};
}

json times_json(const Times &times)
{
	json object = json::object();

	for (auto [m, us] : times)
		object[std::to_string(m)] = us;
	return {{"times_us", object}};
}

// What plan takes, but for the period: measured times, because nothing is known of the sizes between them.
json task_json(const Fit &f)
{
	json task = {{"name", f.name}, {"class", class_name(f.kind)}, {"alone", times_json(f.times_us)}};

	if (f.factor)
		task["conflict"] = {{"factor", *f.factor}};
	return task;
}

} // namespace

std::vector<Fit> fit_samples(const std::string &csv, const std::string &name)
{
	std::vector<Fit> fits;

	for (const Measured &m : parse_samples(csv, name))
		fits.push_back(fit_task(m, name));
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
				{"factor", f.factor ? json(*f.factor) : json(nullptr)},
				{"task", task_json(f)}});
	return {{"version", JSON_VERSION}, {"command", "fit"}, {"tasks", list}};
}

} // namespace tool::plan
