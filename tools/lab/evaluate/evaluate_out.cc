// SPDX-License-Identifier: GPL-2.0
// Writes the results of an evaluation as text, CSV and JSON (docs/plan-schema.json).
#include "gpulens/out/table.hpp"
#include "lab/evaluate/evaluate.hpp"

#include <fmt/format.h>

namespace tool::plan {

using json = nlohmann::ordered_json;

namespace {

constexpr int EVALUATION_JSON_VERSION = 1;

double share_of_fits(const Results &results, const Outcome &o)
{
	return double(o.fits) / results.evaluation.sets;
}

// Calls take(experiment, U, outcomes at U) for each point.
template <typename Take> void each_point(const Results &results, Take take)
{
	std::vector<double> us = results.evaluation.utilizations();

	for (const Experiment &e : results.experiments)
		for (size_t i = 0; i < us.size(); i++)
			take(e, us[i], e.points[i]);
}

} // namespace

std::string results_csv(const Results &results, bool times)
{
	std::string out = "tasks,utilization,sets";

	for (const std::string &way : results.evaluation.ways)
		out += ',' + way;
	for (const std::string &way : results.evaluation.ways)
		out += times ? fmt::format(",{}_us", way) : "";
	out += '\n';
	each_point(results, [&](const Experiment &e, double u, const std::vector<Outcome> &outcomes) {
		out += fmt::format("{},{},{}", e.tasks, u, results.evaluation.sets);
		for (const Outcome &o : outcomes)
			out += fmt::format(",{:.4f}", share_of_fits(results, o));
		for (const Outcome &o : outcomes)
			out += times ? fmt::format(",{:.1f}", double(o.time_ns) / results.evaluation.sets / 1000) : "";
		out += '\n';
	});
	return out;
}

std::string results_text(const Results &results)
{
	std::string out =
		fmt::format("{} TPCs, {} sets of tasks a point, seed {}, test {}\n", results.evaluation.tpcs,
			    results.evaluation.sets, results.evaluation.seed, criterion_name(results.evaluation.test));
	std::vector<std::string> titles{"Tasks", "U"};

	titles.insert(titles.end(), results.evaluation.ways.begin(), results.evaluation.ways.end());
	Table t(titles);
	each_point(results, [&](const Experiment &e, double u, const std::vector<Outcome> &outcomes) {
		std::vector<Cell> row{std::to_string(e.tasks), fmt::format("{}", u)};
		for (const Outcome &o : outcomes)
			row.emplace_back(fmt::format("{:.2f}", share_of_fits(results, o)));
		t.add(std::move(row));
	});
	return out + t.str({});
}

json results_json(const Results &results)
{
	const Evaluation &evaluation = results.evaluation;
	json points = json::array();

	each_point(results, [&](const Experiment &e, double u, const std::vector<Outcome> &outcomes) {
		json point{{"tasks", e.tasks}, {"utilization", u}};
		for (size_t h = 0; h < outcomes.size(); h++)
			point[evaluation.ways[h]] = outcomes[h].fits;
		points.push_back(std::move(point));
	});
	return {{"version", EVALUATION_JSON_VERSION},
		{"command", "plan --evaluate"},
		{"tpcs", evaluation.tpcs},
		{"sets", evaluation.sets},
		{"seed", evaluation.seed},
		{"test", criterion_name(evaluation.test)},
		{"points", points}};
}

} // namespace tool::plan
