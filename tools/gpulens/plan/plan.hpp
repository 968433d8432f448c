// SPDX-License-Identifier: GPL-2.0
// Makes a plan for the tasks of a file on a GPU, or on a number of TPCs. docs/plan.md describes it for users.
#pragma once
#include "gpulens/out/table.hpp"
#include "gpulens/plan/allocate.hpp"
#include "gpulens/plan/task_file.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tool::plan {

struct PlanOptions {
	std::string file;        // of tasks; "-": standard input
	std::optional<u32> tpcs; // plan for that many TPCs instead of a GPU
	Criterion test = Criterion::Edf;
	std::string heuristic = "auto"; // or the name of one; auto: the first that finds a plan
	Start start = Start::Largest;
	bool exact = false;         // use find_optimum()
	u32 quantum = 1, least = 1; // of Sizes
	Placing placing = Placing::Packed;
	bool quiet = false; // no notes in the text
};

struct Attempt {
	std::string name; // of the heuristic, or "exact"
	Allocation allocation;
};

struct Plan {
	std::string gpu;    // title of the GPU; empty if planned for a number of TPCs
	std::string device; // its PCI address or platform name; empty: unknown, or none
	GpcMap map;         // without GPCs if planned for a number of TPCs
	TaskFile file;
	Sizes sizes; // without reserved TPCs
	Criterion test = Criterion::Edf;
	Placing placing = Placing::Packed;
	std::vector<Attempt> tried;     // never empty; the last element is the plan
	std::vector<TpcMask> masks;     // by partition; empty if there are no GPCs or the plan does not fit
	std::vector<std::string> notes; // on assumptions, for the user

	const Allocation &allocation() const { return tried.back().allocation; }
};

// text, name: contents and name of the task file. Throws Error (Input).
Plan make_plan(const std::string &text, const std::string &name, const GpcMap &map, const PlanOptions &options);

std::string plan_text(const Plan &plan, const Style &style);
nlohmann::ordered_json plan_json(const Plan &plan);
// Returns a message for each task that fits no partition.
std::vector<std::string> impossible_texts(const Plan &plan);

} // namespace tool::plan
