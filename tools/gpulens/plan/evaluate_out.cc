// SPDX-License-Identifier: GPL-2.0
// Results of an evaluation as text, CSV and JSON (docs/plan-schema.json). See evaluate.hpp.
#include "gpulens/out/table.hpp"
#include "gpulens/plan/evaluate.hpp"

#include <fmt/format.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr int VERSION = 1; // of the JSON

double share(const Results &results, const Outcome &o)
{
	return double(o.fits) / results.of.sets;
}

// Calls take(experiment, U, its outcomes).
template <typename Take> void each_point(const Results &results, Take take)
{
	std::vector<double> us = results.of.utilizations();

	for (const Experiment &e : results.experiments)
		for (size_t i = 0; i < us.size(); i++)
			take(e, us[i], e.points[i]);
}

} // namespace

std::string results_csv(const Results &results, bool times)
{
	std::string out = "tasks,utilization,sets";

	for (const Heuristic &h : all_heuristics())
		out += fmt::format(",{}", h.name());
	for (const Heuristic &h : all_heuristics())
		out += times ? fmt::format(",{}_us", h.name()) : "";
	out += '\n';
	each_point(results, [&](const Experiment &e, double u, const std::vector<Outcome> &outcomes) {
		out += fmt::format("{},{},{}", e.tasks, u, results.of.sets);
		for (const Outcome &o : outcomes)
			out += fmt::format(",{:.4f}", share(results, o));
		for (const Outcome &o : outcomes)
			out += times ? fmt::format(",{:.1f}", double(o.time_ns) / results.of.sets / 1000) : "";
		out += '\n';
	});
	return out;
}

std::string results_text(const Results &results)
{
	std::string out = fmt::format("{} TPCs, {} sets of tasks a point, seed {}, test {}\n", results.of.tpcs,
				      results.of.sets, results.of.seed, criterion_name(results.of.test));
	std::vector<std::string> titles{"Tasks", "U"};

	for (const Heuristic &h : all_heuristics())
		titles.emplace_back(h.name());
	Table t(titles);
	each_point(results, [&](const Experiment &e, double u, const std::vector<Outcome> &outcomes) {
		std::vector<Cell> row{std::to_string(e.tasks), fmt::format("{}", u)};
		for (const Outcome &o : outcomes)
			row.emplace_back(fmt::format("{:.2f}", share(results, o)));
		t.add(std::move(row));
	});
	return out + t.str({});
}

json results_json(const Results &results)
{
	const Evaluation &of = results.of;
	json points = json::array();

	each_point(results, [&](const Experiment &e, double u, const std::vector<Outcome> &outcomes) {
		json one{{"tasks", e.tasks}, {"utilization", u}};
		for (size_t h = 0; h < outcomes.size(); h++)
			one[all_heuristics()[h].name()] = outcomes[h].fits;
		points.push_back(std::move(one));
	});
	return {{"version", VERSION}, {"command", "plan --evaluate"},    {"tpcs", of.tpcs}, {"sets", of.sets},
		{"seed", of.seed},    {"test", criterion_name(of.test)}, {"points", points}};
}

} // namespace tool::plan
