// SPDX-License-Identifier: GPL-2.0
// Setups, repetition, simulation and judgement of tables of times.
#include "lab/experiment/table.hpp"

#include "gpulens/measure/interval.hpp"
#include "gpulens/out/progress.hpp"
#include "lib/base/errors.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace tool::experiment {

using json = nlohmann::ordered_json;
using measure::interval_of;
using plan::Placing;
using std::chrono::steady_clock;

namespace {

constexpr u32 BATCH = 5;            // jobs of a row in a round
constexpr u32 MAX_JOBS = 2000;      // of a row
constexpr double HARMED = 1.5;      // a neighbour that makes a job take so many times as long disturbs it
constexpr double PROTECTED = 1.1;   // and one that makes it take less than this does not
constexpr double NOT_SLOWER = 1.02; // an additional TPC slows a job, if it takes more than so many times as long
constexpr double NEARLY = 1.05;     // packed and distributed take the same time
constexpr double LITTLE = 0.5; // at most so much of what a TPC would bring if time were in inverse proportion to TPCs
constexpr double GAINS = 1.3;  // the largest partition's job is at least so many times as fast as the smallest one's

double mean_of(const std::vector<double> &ms)
{
	return ms.empty() ? 0 : interval_of(ms).mean;
}

bool is_settled(const Row &row, double within)
{
	return !row.ms.empty() && interval_of(row.ms).is_within(within) &&
	       (row.other_ms.empty() || interval_of(row.other_ms).is_within(within));
}

const Row *find_row(const TimeTable &table, const std::string &begin)
{
	for (const Row &row : table.rows)
		if (row.setup.name.starts_with(begin))
			return &row;
	return nullptr;
}

Verdict judge_cases(const TimeTable &table)
{
	Verdict v{.finding = Finding::Unknown, .rule = "RTAS'23, Obs. 1", .sentence = {}};
	double ms[5];

	for (int i = 0; i < 5; i++) {
		const Row *row = find_row(table, std::to_string(i + 1));
		ms[i] = row ? mean_of(row->ms) : 0;
		if (!(ms[i] > 0)) {
			v.sentence = fmt::format("case {} was not measured", i + 1);
			return v;
		}
	}
	double harm = ms[2] / ms[0], left = ms[3] / ms[4];
	v.numbers = {{"slow_down_by_malfunction", harm}, {"slow_down_in_partitions", left}};
	v.finding = left <= PROTECTED && harm >= HARMED ? Finding::Seen
		    : left >= HARMED                    ? Finding::NotSeen
							: Finding::Unknown;
	v.sentence =
		fmt::format("{}: a malfunctioning neighbour makes a job take {:.2f} times as long, and {:.2f} times in "
			    "partitions",
			    choose_text(v.finding, "partitions protect from a neighbour",
					"partitions do not protect from a neighbour", "protection is not clear"),
			    harm, left);
	return v;
}

Verdict judge_sizes(const TimeTable &table)
{
	Verdict v{.finding = Finding::Unknown, .rule = "RTAS'23, Fig. 13", .sentence = {}};
	double worst = 0, apart = 1, first = 0, last = 0;
	const Row *slower = nullptr, *before[2][2] = {};

	for (const Row &row : table.rows) {
		const Row *&previous = before[row.setup.placing == Placing::Packed][row.setup.other_tpcs > 0];
		if (previous && mean_of(row.ms) / mean_of(previous->ms) > worst) {
			worst = mean_of(row.ms) / mean_of(previous->ms);
			slower = &row;
		}
		previous = &row;
		if (row.setup.other_tpcs)
			continue;
		first = first > 0 ? first : mean_of(row.ms);
		last = mean_of(row.ms);
		for (const Row &other : table.rows)
			if (other.setup.tpcs == row.setup.tpcs && !other.setup.other_tpcs && !other.ms.empty())
				apart = std::max(apart, mean_of(other.ms) / mean_of(row.ms));
	}
	v.numbers = {{"greatest_step", worst}, {"packed_and_distributed_apart", apart}, {"gain", first / last}};
	if (!slower || !(first / last >= GAINS)) {
		v.sentence =
			fmt::format("the number of TPCs hardly matters ({:.2f} times as fast with all), so that a job "
				    "of another kind is needed, or masks have no effect",
				    first / last);
		return v;
	}
	v.finding = worst <= NOT_SLOWER && apart <= NEARLY ? Finding::Seen
		    : worst > NEARLY || apart > PROTECTED  ? Finding::NotSeen
							   : Finding::Unknown;
	v.sentence =
		fmt::format("{}: from one size to the next a job takes at most {:.3f} times as long ({}), and packed "
			    "and distributed ones differ by a factor of {:.3f} at most",
			    choose_text(v.finding, "more TPCs slow no partition, wherever they are",
					"more TPCs or another place slow a partition",
					"whether more TPCs slow a partition is not clear"),
			    worst, slower->setup.name, apart);
	return v;
}

// Obs. 3 says that a TPC more may bring little: a job to which each one brings its share does not refute it.
void judge_benefits(const TimeTable &table, Verdict &v)
{
	std::vector<double> benefits;
	double before = 0, least_percent = 0;
	size_t least = 0;

	for (size_t n = 1; n <= table.rows.size(); n++) {
		double now = (mean_of(table.rows[n - 1].ms) + mean_of(table.rows[table.rows.size() - n].other_ms)) / 2;
		if (n > 1) {
			benefits.push_back((1 - now / before) * static_cast<double>(n));
			if (!least || benefits.back() < benefits[least - 2]) {
				least = n;
				least_percent = 100 * (1 - now / before);
			}
		}
		before = now;
	}
	bool little = benefits[least - 2] <= LITTLE && v.numbers["gain"].get<double>() >= GAINS;
	v.numbers["tpc_benefits"] = benefits;
	v.numbers["obs_3"] = finding_name(little ? Finding::Seen : Finding::Unknown);
	v.also = fmt::format(
		"RTAS'23, Obs. 3, {}: TPC number {} brings least: it shortens a job by {:.1f} %, {:.2f} of what it "
		"would if time were in inverse proportion to TPCs",
		v.numbers["obs_3"].get<std::string>(), least, least_percent, benefits[least - 2]);
}

Verdict judge_splits(const TimeTable &table)
{
	Verdict v{.finding = Finding::Unknown, .rule = "RTAS'23, Obs. 2", .sentence = {}};
	double worst = 0;
	bool complete = table.rows.size() >= 2;

	for (size_t i = 0; i < table.rows.size(); i++) {
		complete = complete && !table.rows[i].ms.empty() && !table.rows[i].other_ms.empty();
		if (i && complete) // A has a TPC more than before, B one less
			worst = std::max({worst, mean_of(table.rows[i].ms) / mean_of(table.rows[i - 1].ms),
					  mean_of(table.rows[i - 1].other_ms) / mean_of(table.rows[i].other_ms)});
	}
	if (!complete) {
		v.sentence = "not every split was measured";
		return v;
	}
	double gain = mean_of(table.rows.front().ms) / mean_of(table.rows.back().ms);
	v.numbers = {{"greatest_step", worst}, {"gain", gain}};
	v.finding = gain >= GAINS && worst <= NOT_SLOWER  ? Finding::Seen
		    : gain < NOT_SLOWER || worst > NEARLY ? Finding::NotSeen
							  : Finding::Unknown;
	v.sentence = fmt::format(
		"{}: instance A is {:.2f} times as fast on {} TPCs as on {}, and no instance takes more than "
		"{:.3f} times as long with a TPC more",
		choose_text(v.finding, "splits adjust times of jobs", "splits do not adjust times of jobs",
			    "the effect of splits is not clear"),
		gain, table.rows.back().setup.tpcs, table.rows.front().setup.tpcs, worst);
	judge_benefits(table, v);
	return v;
}

} // namespace

const std::vector<Kind> &tables()
{
	static const std::vector<Kind> all = {
		{"table3", "Obs. 1", "RTAS'23: a job alone, beside another, beside a malfunction, and in partitions"},
		{"fig13", "Fig. 13",
		 "RTAS'23: time by the number of TPCs, packed and distributed, one and two instances"},
		{"fig14", "Obs. 2", "RTAS'23: two instances on all splits of 8 TPCs"},
	};
	return all;
}

std::vector<Setup> make_setups(const std::string &experiment, u32 tpcs, const std::vector<u32> &sizes)
{
	u32 all = std::min(tpcs, CASE_TPCS), half = all / 2;
	std::vector<Setup> setups;

	if (all < 2)
		throw Error(Error::NoRoom, fmt::format("{}: the GPU has {} TPCs; two are needed", experiment, tpcs));
	if (experiment == "table3")
		return {{.name = "1 alone", .tpcs = all},
			{.name = "2 beside another", .tpcs = all, .other_tpcs = all, .shared = true},
			{.name = "3 beside a malfunction",
			 .tpcs = all,
			 .other_tpcs = all,
			 .shared = true,
			 .malfunction = true},
			{.name = "4 beside a malfunction, in partitions",
			 .tpcs = half,
			 .other_tpcs = half,
			 .malfunction = true},
			{.name = "5 alone in its partition", .tpcs = half}};
	if (experiment == "fig14") {
		for (u32 n = 1; n < all; n++)
			setups.push_back({.name = fmt::format("{}/{}", n, all - n), .tpcs = n, .other_tpcs = all - n});
		return setups;
	}
	for (Placing placing : {Placing::Packed, Placing::Distributed})
		for (bool two : {false, true})
			for (u32 n : sizes)
				if (n <= (two ? tpcs / 2 : tpcs))
					setups.push_back({.name = fmt::format(
								  "{}, {} x {} TPCs",
								  placing == Placing::Packed ? "packed" : "distributed",
								  two ? 2 : 1, n),
							  .tpcs = n,
							  .other_tpcs = two ? n : 0,
							  .placing = placing});
	return setups;
}

void run_rows(TimeTable &table, u64 for_ns, const RunJobs &run)
{
	steady_clock::time_point end = steady_clock::now() + std::chrono::nanoseconds(for_ns);
	ProgressBar bar;
	bool wanted = true;

	for (u32 round = 1; wanted; round++) {
		wanted = false;
		for (size_t i = 0; i < table.rows.size(); i++) {
			Row &row = table.rows[i];
			if (row.settled || (round > 1 && steady_clock::now() >= end))
				continue;
			bar.show(i, table.rows.size(),
				 fmt::format("{} {}, round {}", table.experiment, row.setup.name, round));
			run(row, BATCH);
			row.settled = is_settled(row, table.within);
			wanted = wanted || (!row.settled && row.ms.size() < MAX_JOBS);
		}
		wanted = wanted && steady_clock::now() < end;
	}
	size_t open = static_cast<size_t>(
		std::count_if(table.rows.begin(), table.rows.end(), [](const Row &row) { return !row.settled; }));
	if (open)
		table.notes.push_back(
			fmt::format("the time was over before the confidence intervals of {} of {} setups were "
				    "within {:g} % of their means",
				    open, table.rows.size(), 100 * table.within));
}

TimeTable simulate_table(const std::string &experiment, const std::string &without, double within)
{
	constexpr u32 TPCS = 40;              // of the Titan V, RTAS'23
	constexpr double WORK = 96, REST = 2; // ms on one TPC; ms that no TPC shortens
	constexpr double STREAMS = 6;         // of a malfunction
	TimeTable table{.experiment = experiment,
			.job = "simulated job",
			.simulated = true,
			.without = without,
			.tpcs = TPCS,
			.within = within};
	std::vector<u32> sizes;
	u32 run = 0;

	if (!without.empty() && without != "masks")
		throw Error(Error::Input,
			    fmt::format("--without {}: {} does not depend on it, but on masks", without, experiment));
	for (u32 n = 1; n <= TPCS; n++)
		sizes.push_back(n);
	for (const Setup &setup : make_setups(experiment, TPCS, sizes))
		table.rows.push_back({.setup = setup});
	run_rows(table, 0, [&](Row &row, u32 count) {
		const Setup &s = row.setup;
		bool shared = s.shared || (!without.empty() && s.other_tpcs);
		double others = !s.other_tpcs || !shared ? 0 : s.malfunction ? STREAMS : 1;
		for (u32 i = 0; i < count; i++, run++) {
			double noise = 1 + 0.001 * (run % 3); // so that confidence intervals are not empty
			double tpcs = without.empty() ? s.tpcs : TPCS, other = without.empty() ? s.other_tpcs : TPCS;
			row.ms.push_back(noise * (REST + WORK / tpcs * (1 + others)));
			if (s.other_tpcs && !s.malfunction)
				row.other_ms.push_back(noise * (REST + WORK / other * (1 + others)));
		}
	});
	return table;
}

Verdict judge_table(const TimeTable &table)
{
	return table.experiment == "table3"  ? judge_cases(table)
	       : table.experiment == "fig13" ? judge_sizes(table)
					     : judge_splits(table);
}

} // namespace tool::experiment
