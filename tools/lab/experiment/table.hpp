// SPDX-License-Identifier: GPL-2.0
// The tables and figures of times of RTAS'23 (J. Bakita and J. H. Anderson, "Hardware Compute Partitioning on NVIDIA GPUs"): Table
// III, Fig. 13 and Fig. 14. Instance A's jobs are timed; instance B runs beside it.
#pragma once
#include "lab/experiment/judge.hpp"
#include "gpulens/out/table.hpp"
#include "lib/tpc/place.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tool::experiment {

constexpr u32 CASE_TPCS = 8; // of Table III and Fig. 14; fewer where the GPU has fewer

// What runs at the same time. TPCs: the number that an instance is limited to.
struct Setup {
	std::string name;
	u32 tpcs = 0;             // of A
	u32 other_tpcs = 0;       // of B; 0: there is no B
	bool shared = false;      // B has the TPCs of A
	bool malfunction = false; // B launches without end, in several streams
	plan::Placing placing = plan::Placing::Packed;
};

struct Row {
	Setup setup;
	std::vector<double> ms{}, other_ms{}; // times of jobs, of A and of B; of a malfunction: none
	bool settled = false;                 // their confidence intervals are within what is wanted
};

struct TimeTable {
	std::string experiment; // "table3", "fig13", "fig14"
	std::string gpu{}, job{};
	bool simulated = false;
	std::string without{}; // "masks" or empty
	u32 tpcs = 0;          // of the GPU
	double within = 0;     // wanted half width of the 95 % interval, as a share of the mean
	std::vector<Row> rows{};
	std::vector<std::string> notes{};
};

// The setups of an experiment on a GPU with so many TPCs. sizes: of fig13, ascending.
std::vector<Setup> make_setups(const std::string &experiment, u32 tpcs, const std::vector<u32> &sizes);
const std::vector<Kind> &tables();

// Appends times of count jobs, or of as many as there are, to a row.
using RunJobs = std::function<void(Row &row, u32 count)>;
// Runs all rows, round by round, until each is settled or the time is over; the first round is always complete.
void run_rows(TimeTable &table, u64 for_ns, const RunJobs &run);

// Times that follow a / TPCs + b, and streams that share TPCs share them by their number. without: "masks": masks have no
// effect. Throws Error (Input) for another word.
TimeTable simulate_table(const std::string &experiment, const std::string &without, double within);

Verdict judge_table(const TimeTable &table);
std::string table_text(const TimeTable &table, const Verdict &verdict, const Style &style);
nlohmann::ordered_json table_json(const TimeTable &table, const Verdict &verdict);
// A line for each job: experiment,setup,instance,tpcs,placing,run,ms.
std::string table_csv(const TimeTable &table);
std::string table_svg(const TimeTable &table, const Verdict &verdict);

} // namespace tool::experiment
