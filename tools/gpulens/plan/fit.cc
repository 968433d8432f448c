// SPDX-License-Identifier: GPL-2.0
// Makes staircases, fits curves by least squares, and prints them.
#include "gpulens/plan/fit.hpp"

#include "gpulens/out/table.hpp"
#include "gpulens/plan/samples.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/json_input.hpp"
#include "lib/base/nearest_word.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr int FIT_JSON_VERSION = 1;

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

// Returns the least knee that the times allow, where find_knee() found this one: between it and the next smaller size that was
// measured, as no size is faster than a smaller one by more than their ratio.
double find_least_knee(const Times &times, u32 knee)
{
	double least = 1;

	for (auto size = times.begin(); size->first < knee; ++size)
		least = std::max({least, size->first + 1.0, size->first * size->second / times.rbegin()->second});
	return least;
}

// Returns two sizes from about half of the largest on (12 / 25: 32 of 66), a quarter or more apart, of which the larger one gains
// less than FLAT_SHARE of what the TPCs grow: a last wave of blocks may hide that more TPCs do not make it faster.
std::optional<std::pair<u32, u32>> find_flat_part(const Times &times)
{
	for (auto from = times.lower_bound(times.rbegin()->first * 12 / 25); from != times.end(); ++from)
		for (auto to = std::next(from); to != times.end(); ++to)
			if (double growth = double(to->first) / from->first - 1;
			    growth >= 0.25 && from->second / to->second - 1 < FLAT_SHARE * growth - 1e-9)
				return std::pair(from->first, to->first);
	return std::nullopt;
}

void find_class(Fit &f, const Times &times)
{
	double most = KNEE_SHARE * f.largest;
	std::string why;

	f.kind = Class::Memory;
	if (f.knee <= most)
		return;
	if (find_least_knee(times, f.knee) <= most)
		why = fmt::format("measure it with {} of {} TPCs, too", static_cast<u32>(most), f.largest);
	else if (std::optional<std::pair<u32, u32>> flat = find_flat_part(times))
		why = fmt::format("with {} in place of {} TPCs it is only {:.2f} times as fast", flat->second,
				  flat->first, times.at(flat->first) / times.at(flat->second));
	f.kind_known = why.empty();
	if (f.kind_known)
		f.kind = Class::Compute;
	else
		f.notes.push_back(fmt::format("task \"{}\" counts as a memory task, since its class is unknown: {}",
					      f.name, why));
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

// Returns the times as an upper bound for all sizes up to the next: a larger size with a longer time raises the smaller.
Times make_staircase(const Times &times)
{
	Times stairs = times;
	double longest = 0;

	for (auto size = stairs.rbegin(); size != stairs.rend(); ++size)
		size->second = longest = std::max(longest, size->second);
	return stairs;
}

// Returns the time of the next smaller size, or nothing below the smallest.
std::optional<double> stairs_at(const Times &stairs, u32 m)
{
	auto above = stairs.upper_bound(m);

	return above == stairs.begin() ? std::nullopt : std::optional(std::prev(above)->second);
}

// Returns the staircase in conflict from its smallest size on, at each size that was measured.
Times make_conflict_staircase(const Times &alone, const Times &conflict)
{
	Times stairs = make_staircase(conflict), joint = stairs;

	for (auto [m, us] : alone)
		if (std::optional<double> longer = stairs_at(stairs, m))
			joint[m] = *longer;
	for (auto &[m, us] : joint)
		us = std::max(us, stairs_at(alone, m).value_or(0));
	return joint;
}

// Returns the largest ratio of a time to the staircase alone, at least 1; nothing if no size is known alone.
std::optional<double> find_factor(const Times &alone, const Times &times)
{
	std::optional<double> factor;

	for (auto [m, us] : times)
		if (std::optional<double> without = stairs_at(alone, m))
			factor = std::max(factor.value_or(1), us / *without);
	return factor;
}

void add_notes(Fit &f, const Samples &measured)
{
	auto note = [&](const Times &times, const char *what) {
		size_t known = 0;
		for (auto [m, us] : measured.alone)
			known += times.contains(m);
		if (!times.empty() && known < measured.alone.size())
			f.notes.push_back(fmt::format("task \"{}\" was measured {} with {} of {} sizes: the factor is "
						      "assumed for the others",
						      f.name, what, known, measured.alone.size()));
	};

	if (f.slower_from)
		f.notes.push_back(
			fmt::format("task \"{}\" takes longer with more than {} TPCs", f.name, *f.slower_from));
	if (f.conflict_us.empty())
		note(measured.conflict, "in conflict");
	note(measured.beside_memory, "beside memory tasks");
	note(measured.beside_compute, "beside compute tasks");
}

Fit fit_task(const Samples &measured, const std::string &file)
{
	Fit f;

	f.name = measured.task;
	if (measured.alone.size() < 2)
		throw Error(Error::Input,
			    fmt::format("{}: task {}: times alone for {} size{}; at least two sizes are needed", file,
					quote_value(measured.task), measured.alone.size(),
					measured.alone.size() == 1 ? "" : "s"));
	f.alone = fit_curve(measured.alone);
	f.largest = measured.alone.rbegin()->first;
	f.knee = find_knee(measured.alone);
	find_class(f, measured.alone);
	f.slower_from = find_slower_from(measured.alone);
	for (auto [m, us] : measured.conflict) {
		auto same = measured.alone.find(m);
		double alone = same == measured.alone.end() ? time_at(f.alone, m) : same->second;
		f.factor = std::max(f.factor.value_or(1), us / alone);
	}
	f.times_us = make_staircase(measured.alone);
	if (measured.conflict.size() > 1) {
		f.conflict = fit_curve(measured.conflict);
		f.conflict_us = make_conflict_staircase(f.times_us, measured.conflict);
	} else {
		f.task_factor = find_factor(f.times_us, measured.conflict);
	}
	f.beside_memory = find_factor(f.times_us, measured.beside_memory);
	f.beside_compute = find_factor(f.times_us, measured.beside_compute);
	add_notes(f, measured);
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

// What plan takes, but for the period.
json task_json(const Fit &f, Model model)
{
	json task = {{"name", f.name}, {"class", class_name(f.kind)}};
	std::optional<double> factor = model == Model::Curve ? f.factor : f.task_factor;

	task["alone"] =
		model == Model::Curve ? json{{"a_us", f.alone.a_us}, {"b_us", f.alone.b_us}} : times_json(f.times_us);
	if (model == Model::Times && !f.conflict_us.empty())
		task["conflict"] = times_json(f.conflict_us);
	else if (factor)
		task["conflict"] = {{"factor", *factor}};
	if (f.beside_memory)
		task["beside"]["memory"] = *f.beside_memory;
	if (f.beside_compute)
		task["beside"]["compute"] = *f.beside_compute;
	return task;
}

const char *kind_text(const Fit &f)
{
	return f.kind_known ? class_name(f.kind) : "unknown";
}

std::string factor_text(const std::optional<double> &factor)
{
	return factor ? fmt::format("{:.3f}", *factor) : "";
}

std::string curves_text(const std::vector<Fit> &fits)
{
	Table t({"<Task", "<Class", "Knee", "Of", "<Curve", "a us", "b us", "~Raised us", "~Residual", "Factor"});

	for (const Fit &f : fits) {
		auto row = [&](std::vector<Cell> cells, const Curve &c, const std::string &last) {
			for (const std::string &n :
			     {fmt::format("{:.3f}", c.a_us), fmt::format("{:.3f}", c.b_us),
			      fmt::format("{:.3f}", c.raised_us), fmt::format("{:.1f} %", c.residual * 100)})
				cells.emplace_back(n);
			cells.emplace_back(last);
			t.add(std::move(cells));
		};
		row({f.name, kind_text(f), std::to_string(f.knee), std::to_string(f.largest), "alone"}, f.alone,
		    f.conflict ? "" : factor_text(f.factor));
		if (f.conflict)
			row({f.name, "", "", "", "conflict"}, *f.conflict, factor_text(f.factor));
	}
	return t.str({});
}

std::string times_text(const std::vector<Fit> &fits)
{
	Table t({"<Task", "<Class", "~Knee", "~Of", "Factor", "Beside memory", "compute", "TPCs", "~Alone us",
		 "~Conflict us"});

	for (const Fit &f : fits) {
		std::vector<Cell> first{f.name,
					kind_text(f),
					std::to_string(f.knee),
					std::to_string(f.largest),
					factor_text(f.factor),
					factor_text(f.beside_memory),
					factor_text(f.beside_compute)};
		Times sizes = f.times_us;
		sizes.insert(f.conflict_us.begin(), f.conflict_us.end());
		for (auto [m, us] : sizes) {
			std::vector<Cell> row = std::exchange(first, std::vector<Cell>(first.size(), Cell("")));
			auto alone = f.times_us.find(m), conflict = f.conflict_us.find(m);
			row.emplace_back(std::to_string(m));
			row.emplace_back(alone == f.times_us.end() ? "" : fmt::format("{:.3f}", alone->second));
			row.emplace_back(conflict == f.conflict_us.end() ? ""
									 : fmt::format("{:.3f}", conflict->second));
			t.add(std::move(row));
		}
	}
	return t.str({});
}

} // namespace

std::vector<Fit> fit_samples(const std::string &csv, const std::string &name)
{
	std::vector<Fit> fits;

	for (const Samples &m : parse_samples(csv, name))
		fits.push_back(fit_task(m, name));
	return fits;
}

std::string fit_text(const std::vector<Fit> &fits, Model model)
{
	std::string text = model == Model::Curve ? curves_text(fits) : times_text(fits);

	for (const Fit &f : fits)
		text += notes_text(f.notes, {});
	return text;
}

json tasks_json(const std::vector<Fit> &fits, Model model, const TaskTimes &periods_us, const TaskTimes &deadlines_us)
{
	std::vector<std::string> names;
	json list = json::array();

	names.reserve(fits.size());
	for (const Fit &f : fits)
		names.push_back(f.name);
	for (const TaskTimes *times : {&periods_us, &deadlines_us})
		for (const auto &[name, us] : *times)
			if (!name.empty() && std::ranges::find(names, name) == names.end())
				throw Error(Error::Input,
					    fmt::format("no task {} was measured{}", name, suggestion_of(name, names)));
	for (const Fit &f : fits) {
		json task = task_json(f, model);
		auto add = [&](const char *key, const TaskTimes &times) {
			auto at = times.contains(f.name) ? times.find(f.name) : times.find("");
			if (at != times.end())
				task[key] = at->second;
		};
		add("period_us", periods_us);
		add("deadline_us", deadlines_us);
		if (!task.contains("period_us"))
			throw Error(Error::Input, fmt::format("task {0} has no period; --period {0}=TIME", f.name));
		list.push_back(task);
	}
	return {{"tasks", list}};
}

json fit_json(const std::vector<Fit> &fits, Model model)
{
	json list = json::array();

	for (const Fit &f : fits)
		list.push_back({{"name", f.name},
				{"class", kind_text(f)},
				{"knee", f.knee},
				{"largest", f.largest},
				{"slower_from", f.slower_from ? json(*f.slower_from) : json(nullptr)},
				{"alone", curve_json(f.alone)},
				{"conflict", f.conflict ? curve_json(*f.conflict) : json(nullptr)},
				{"factor", f.factor ? json(*f.factor) : json(nullptr)},
				{"task", task_json(f, model)},
				{"notes", f.notes}});
	return {{"version", FIT_JSON_VERSION}, {"command", "fit"}, {"tasks", list}};
}

} // namespace tool::plan
