// SPDX-License-Identifier: GPL-2.0
// The ways, what a GPU does by the rules, and the results in each form.
#include "lab/experiment/sharing.hpp"

#include "gpulens/out/axes.hpp"
#include "lab/experiment/report.hpp"
#include "gpulens/out/svg.hpp"
#include "lib/base/errors.hpp"
#include "lib/base/format.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;

namespace {

constexpr size_t EACH_ALONE = 0, BY_DEFAULT = 1, BY_SCHEDULE = 2, BY_POLICY = 3, BY_HOLDS = 4,
		 BY_MASKS = 8; // in ways()
// "Seen" by this decision: the p99 of requests is so much of that with the driver's slices, or less.
constexpr double SEEN_RATIO = 0.9;
// As CUDA's library and gpulens run --schedule set them, and what a switch takes (docs/results/2026-11-29-h200-context-switches.md).
constexpr double SLICE_MS = 2.048, URGENT_MS = 500, BEST_EFFORT_MS = 0.25, SWITCH_MS = 0.093;
constexpr unsigned REQUESTS = 300; // that are simulated

// The value below which that part of the times is, each of which is one of them.
double find_percentile(std::vector<double> ms, double part)
{
	if (ms.empty())
		return 0;
	std::sort(ms.begin(), ms.end());
	return ms[std::min(ms.size() - 1, static_cast<size_t>(part * static_cast<double>(ms.size())))];
}

// Medians of the rounds; nothing where none was measured.
struct Summary {
	std::optional<double> p50, p99, rate, p99_by_alone, train_share, serve_gpu, train_gpu;
	size_t requests = 0;
};

std::optional<double> divide_by(std::optional<double> by, const std::optional<double> &alone)
{
	return by && alone && *alone > 0 ? std::optional(*by / *alone) : std::nullopt;
}

Summary sum_up(const SharingTable &table, size_t way)
{
	const std::vector<Round> &rounds = table.rounds[way];
	std::vector<double> p50, p99, rates, serve, train;
	Summary s;

	for (const Round &round : rounds) {
		s.requests += round.ms.size();
		p50.push_back(find_percentile(round.ms, 0.5));
		p99.push_back(find_percentile(round.ms, 0.99));
		rates.push_back(round.train_rate);
		if (round.serve_gpu && round.train_gpu) {
			serve.push_back(*round.serve_gpu);
			train.push_back(*round.train_gpu);
		}
	}
	if (!s.requests)
		return s;
	if (!serve.empty()) {
		s.serve_gpu = median_of(serve);
		s.train_gpu = median_of(train);
	}
	s.p50 = median_of(p50);
	s.p99 = median_of(p99);
	s.rate = median_of(rates);
	Summary alone = way == EACH_ALONE ? s : sum_up(table, EACH_ALONE);
	s.p99_by_alone = divide_by(s.p99, alone.p99);
	s.train_share = divide_by(s.rate, alone.rate);
	return s;
}

json number_json(const std::optional<double> &value)
{
	return value ? json(*value) : json(nullptr);
}

std::string sharing_title(const SharingTable &table)
{
	return title_of(table.experiment, table.gpu, table.simulated, table.without) + ": " + table.job;
}

// What starts a program; empty: nothing does.
std::string command_of(const std::vector<std::string> &options, unsigned thirds)
{
	std::string text = options.empty() ? "" : "gpulens run";

	for (const std::string &option : options)
		text += ' ' + option;
	return text + (thirds ? fmt::format(" --tpcs {}/3", thirds) : "");
}

// Turns of two programs, the other one of which always has work. The requests come in all phases of its turns.
Round take_turns(double serve_slice, double train_slice)
{
	Round round;
	double served = 0;

	for (unsigned i = 0; i < REQUESTS; i++) {
		double ms = train_slice * (i + 0.5) / REQUESTS + SWITCH_MS; // the rest of its turn
		double left = REQUEST_MS;
		while (left > serve_slice) {
			left -= serve_slice;
			ms += serve_slice + train_slice + 2 * SWITCH_MS;
		}
		round.ms.push_back(ms + left);
		served += REQUEST_MS + 2 * SWITCH_MS * std::ceil(REQUEST_MS / serve_slice);
	}
	round.train_rate = (1 - served / (REQUESTS * PERIOD_MS)) * 1000 / TRAIN_MS;
	return round;
}

} // namespace

const std::vector<Way> &ways()
{
	static const std::string serve = fmt::format("task={}", SERVE_TASK), train = fmt::format("task={}", TRAIN_TASK);
	static const std::vector<Way> all = {
		{"alone"},
		{"together, nothing else"},
		{"run --schedule urgent, best-effort", {"--schedule", "urgent"}, {"--schedule", "best-effort"}},
		{.name = "gpulens schedule, time slices",
		 .serve = {"--schedule", serve + ",urgent"},
		 .train = {"--schedule", train + ",best-effort"},
		 .policy = true},
		{.name = "gpulens schedule, holds",
		 .serve = {"--schedule", serve},
		 .train = {"--schedule", train},
		 .policy = true},
		{"run --mps", {"--mps"}, {"--mps"}},
		{"run --mps, CUDA_MPS_CLIENT_PRIORITY=1", {"--mps"}, {"--mps"}, {"CUDA_MPS_CLIENT_PRIORITY=1"}},
		{"run --mps, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=67",
		 {"--mps"},
		 {"--mps"},
		 {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=67"}},
		{"run --mps --tpcs, 1/3 and 2/3", {"--mps"}, {"--mps"}, {}, 1, 2},
	};

	return all;
}

std::string kernel_job()
{
	return fmt::format("{} ms each {} ms beside kernels of {} ms", REQUEST_MS, PERIOD_MS, TRAIN_MS);
}

SharingTable simulate_sharing(const std::string &without)
{
	bool slices = without.empty();
	SharingTable table{.job = kernel_job(), .simulated = true, .without = without};

	if (!without.empty() && without != "slices")
		throw Error(Error::Input,
			    fmt::format("--without {0}: {1} does not depend on it, but on slices", without, SHARING));
	table.rounds.resize(ways().size());
	table.missing.assign(ways().size(), "no rule says what MPS does without masks");
	table.missing[BY_HOLDS] = "no rule says how long holds take";
	for (size_t way : {EACH_ALONE, BY_DEFAULT, BY_SCHEDULE, BY_POLICY, BY_MASKS})
		table.missing[way].clear();
	table.rounds[EACH_ALONE] = {{std::vector<double>(REQUESTS, REQUEST_MS), 1000.0 / TRAIN_MS}};
	table.rounds[BY_DEFAULT] = {take_turns(SLICE_MS, SLICE_MS)};
	table.rounds[BY_SCHEDULE] = table.rounds[BY_POLICY] = {
		take_turns(slices ? URGENT_MS : SLICE_MS, slices ? BEST_EFFORT_MS : SLICE_MS)};
	table.rounds[BY_MASKS] = {{std::vector<double>(REQUESTS, 3.0 * REQUEST_MS), 1000.0 / TRAIN_MS * 2 / 3}};
	return table;
}

Verdict judge_sharing(const SharingTable &table)
{
	Summary driver = sum_up(table, BY_DEFAULT), schedule = sum_up(table, BY_SCHEDULE);
	Verdict verdict{.rule = "slices"};

	for (size_t way = 0; way < ways().size(); way++) {
		Summary s = sum_up(table, way);
		verdict.numbers[ways()[way].name] = {{"p99_by_alone", number_json(s.p99_by_alone)},
						     {"train_share", number_json(s.train_share)}};
	}
	if (!driver.p99_by_alone || !schedule.p99_by_alone || !schedule.train_share) {
		verdict.sentence = "one of the ways that are compared could not be measured";
		return verdict;
	}
	verdict.finding = *schedule.p99 <= SEEN_RATIO * *driver.p99 ? Finding::Seen : Finding::NotSeen;
	verdict.sentence = fmt::format("beside training, the p99 of requests is {:.2f} times that alone by run "
				       "--schedule, and {:.2f} times by the "
				       "driver's default; training has {:.0f} % of its progress",
				       *schedule.p99_by_alone, *driver.p99_by_alone, 100 * *schedule.train_share);
	return verdict;
}

std::string sharing_text(const SharingTable &table, const Verdict &verdict, const Style &style)
{
	std::vector<std::string> head = {"<Way", "Requests", "p50 ms", "p99 ms", "By alone", "Training %"};
	bool shares = sum_up(table, BY_DEFAULT).serve_gpu.has_value();
	std::string notes;

	if (shares)
		head.emplace_back("GPU time %");
	Table out(head);

	for (size_t way = 0; way < ways().size(); way++) {
		const Way &w = ways()[way];
		Summary s = sum_up(table, way);
		auto cell = [](const std::optional<double> &value) {
			return value ? fmt::format("{:.2f}", *value) : "-";
		};
		std::vector<Cell> row = {w.name,
					 s.requests ? std::to_string(s.requests) : "-",
					 cell(s.p50),
					 cell(s.p99),
					 cell(s.p99_by_alone),
					 s.train_share ? fmt::format("{:.0f}", 100 * *s.train_share) : "-"};
		if (shares)
			row.emplace_back(
				s.serve_gpu ? fmt::format("{:.0f} + {:.0f}", 100 * *s.serve_gpu, 100 * *s.train_gpu)
					    : "-");
		out.add(row);
		if (!table.missing[way].empty())
			notes += fmt::format("Note: {}: {}\n", w.name, replace_controls(table.missing[way]));
	}
	return replace_controls(sharing_title(table)) + '\n' + out.str(style) + notes + verdict_line(verdict) + '\n';
}

json sharing_json(const SharingTable &table, const Verdict &verdict)
{
	json rows = json::array(), out = result_head(table, verdict);

	for (size_t way = 0; way < ways().size(); way++) {
		const Way &w = ways()[way];
		Summary s = sum_up(table, way);
		json rounds = json::array();
		for (const Round &round : table.rounds[way])
			rounds.push_back({{"p50_ms", find_percentile(round.ms, 0.5)},
					  {"p99_ms", find_percentile(round.ms, 0.99)},
					  {"requests", round.ms.size()},
					  {"train_per_s", round.train_rate},
					  {"serve_gpu_share", number_json(round.serve_gpu)},
					  {"train_gpu_share", number_json(round.train_gpu)}});
		rows.push_back({{"way", w.name},
				{"serve", command_of(w.serve, w.serve_thirds)},
				{"train", command_of(w.train, w.train_thirds)},
				{"train_variables", w.train_variables},
				{"policy", w.policy},
				{"missing", table.missing[way].empty() ? json(nullptr) : json(table.missing[way])},
				{"requests", s.requests},
				{"p50_ms", number_json(s.p50)},
				{"p99_ms", number_json(s.p99)},
				{"p99_by_alone", number_json(s.p99_by_alone)},
				{"train_share", number_json(s.train_share)},
				{"serve_gpu_share", number_json(s.serve_gpu)},
				{"train_gpu_share", number_json(s.train_gpu)},
				{"rounds", rounds}});
	}
	out["job"] = table.job;
	out["rows"] = rows;
	return out;
}

std::string sharing_csv(const SharingTable &table)
{
	std::string text = "experiment,way,round,ms\n";

	for (size_t way = 0; way < ways().size(); way++)
		for (size_t round = 0; round < table.rounds[way].size(); round++)
			for (double ms : table.rounds[way][round].ms)
				text += fmt::format("{},\"{}\",{},{:.4f}\n", table.experiment, ways()[way].name,
						    round + 1, ms);
	return text;
}

std::string sharing_svg(const SharingTable &table, const Verdict &verdict)
{
	double y = 12, most = 0, count = static_cast<double>(ways().size());
	std::string body =
		text_lines(sharing_title(table), y, " class=\"title\"") + text_lines(verdict_line(verdict), y);
	double top = y + 40, below = top + 2 * PANEL_PITCH;

	for (size_t way = 0; way < ways().size(); way++)
		most = std::max(most, sum_up(table, way).p99.value_or(0));
	Axes times(top, {0, count}, {0, most}), shares(top + PANEL_PITCH, {0, count}, {0, 100});
	body += times.frame("time of a request: p50, and up to p99", "", "ms") +
		shares.frame("progress of training, of that alone", "", "%");
	for (size_t way = 0; way < ways().size(); way++) {
		Summary s = sum_up(table, way);
		double at = static_cast<double>(way) + 0.5, share = 100 * s.train_share.value_or(0);
		std::string number = std::to_string(way + 1);
		if (s.requests)
			body += times.marker(at, *s.p50, *s.p50, *s.p99, curve_colour(0)) +
				shares.marker(at, share, 0, share, curve_colour(1));
		for (double panel : {top, top + PANEL_PITCH})
			body += svg_text("middle", times.x(at), panel + PANEL_HEIGHT + 18, number, " class=\"small\"");
		body += text_lines(
			fmt::format("{}  {}{}", number, ways()[way].name, s.requests ? "" : " (not measured)"), below);
	}
	return svg_head(PICTURE_WIDTH, below + 12, sharing_title(table), AXES_STYLE) + body + "</svg>\n";
}

} // namespace tool::experiment
