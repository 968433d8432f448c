// SPDX-License-Identifier: GPL-2.0
// A plan: a file of tasks, a GPU or a number of TPCs, and what came of them. docs/plan.md is for users.
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
	std::string file;        // "-" is standard input
	std::optional<u32> tpcs; // of no GPU in particular
	Criterion test = Criterion::Edf;
	std::string heuristic = "auto"; // or its name
	Start start = Start::Largest;
	bool exact = false;
	u32 quantum = 1, least = 1;
	Placing placing = Placing::Packed;
};

struct Attempt {
	std::string name; // of the heuristic
	Allocation allocation;
};

struct Plan {
	std::string gpu; // its title; empty: none in particular
	GpcMap map;      // without GPCs: sizes only
	TaskFile file;
	Sizes sizes; // tpcs: without those that are reserved
	Criterion test = Criterion::Edf;
	Placing placing = Placing::Packed;
	std::vector<Attempt> tried; // the last one is the plan; never empty
	std::vector<TpcMask> masks; // of its partitions where there are GPCs and it fits
	std::vector<std::string> notes;

	const Allocation &allocation() const { return tried.back().allocation; }
};

// Throws BadInput.
Plan make_plan(const std::string &text, const std::string &name, const GpcMap &map, const PlanOptions &options);

std::string plan_text(const Plan &plan, const Style &style);
nlohmann::ordered_json plan_json(const Plan &plan);
// "task \"camera\" fits nowhere: ..." for each that does not.
std::vector<std::string> impossible_texts(const Plan &plan);

} // namespace tool::plan
