// SPDX-License-Identifier: GPL-2.0
// Makes a plan for the tasks of a file on a GPU, or on a number of TPCs. docs/plan.md describes it for users.
#pragma once
#include "gpulens/out/table.hpp"
#include "gpulens/plan/allocate.hpp"
#include "gpulens/plan/mig.hpp"
#include "gpulens/plan/places.hpp"
#include "gpulens/plan/task_file.hpp"
#include "lib/tpc/gpc_map.hpp"
#include "lib/tpc/place.hpp"

#include <nlohmann/json.hpp>
#include <memory>
#include <optional>
#include <string>

namespace tool::plan {

constexpr Criterion DEFAULT_TEST = Criterion::NpEdf; // libgpulens-partition can keep to it

constexpr u64 DEFAULT_SEARCH = 200;

struct PlanOptions {
	std::string file{};             // of tasks; "-": standard input
	std::optional<u32> tpcs;        // plan for that many TPCs instead of a GPU
	std::optional<Criterion> test;  // default: DEFAULT_TEST for a plan, edf for --evaluate
	std::string heuristic = "auto"; // or the name of one; auto: the first that finds a plan, and then a search
	std::optional<Start> start;     // auto: both
	std::optional<Ties> ties;       // auto: all
	bool exact = false;             // use find_optimum()
	std::optional<u64> search; // steps of auto's search_divisions(); default: DEFAULT_SEARCH, 0 for very many tasks
	Sharing sharing{};
	bool keep_spare = false;    // leave TPCs that no partition needs
	u32 quantum = 1, least = 1; // of Sizes
	Placing placing = Placing::Packed;
	std::optional<Place> on; // default: masks, without a word about who carries the plan out
	std::optional<u32> chip; // id of the GPU's chip
	std::string mig_file{};  // with what nvidia-smi prints of the profiles, instead of the known ones
	bool quiet = false;      // no notes in the text
	u64 play_ns = 0;         // simulate the plan for that long
	std::string times{};     // with it: file with measured times; empty: as planned
	std::string picture{};   // SVG file to write
};

struct Attempt {
	std::string name;    // of the heuristic, "exact", "search" or "mig"
	Heuristic heuristic; // a baseline if it is none
	Allocation allocation;
};

struct Plan {
	std::string gpu;    // title of the GPU; empty if planned for a number of TPCs
	std::string device; // its PCI address or platform name; empty: unknown, or none
	GpcMap map;         // without GPCs if planned for a number of TPCs
	TaskFile file;
	Sizes sizes;      // without reserved TPCs, and of an instance if on MIG
	u32 reserved = 0; // TPCs
	Criterion test = DEFAULT_TEST;
	Sharing sharing{};
	Placing placing = Placing::Packed;
	std::vector<Attempt> tried; // never empty; the last element is the plan
	std::vector<u32> needed;    // by partition: its size without spare TPCs
	std::vector<double> slack;  // by partition: share by which all times may grow
	std::vector<TpcMask> masks; // by partition; empty if there are no GPCs, no masks, or the plan does not fit
	std::optional<Place> on;
	std::shared_ptr<const MigGpu> mig;  // if on MIG
	std::vector<MigInstance> instances; // by partition, if on MIG
	std::vector<std::string> notes;     // on assumptions, for the user

	const Allocation &allocation() const { return tried.back().allocation; }
	// Returns whether it is not known if there is a plan, because a schedulability test gave up.
	bool gave_up() const;
	// Returns whether it is certain that no division of the tasks meets the test.
	bool is_refuted() const;
	Problem problem() const { return {file.tasks, sizes, test, sharing}; }
};

// Tries heuristics, or what options say in place of them, until one finds a plan. Never returns an empty list.
std::vector<Attempt> find_allocation(const Problem &problem, const PlanOptions &options);
// text, name: contents and name of the task file. Throws Error (Input).
Plan make_plan(const std::string &text, const std::string &name, const GpcMap &map, const PlanOptions &options);

std::string plan_text(const Plan &plan, const Style &style);
nlohmann::ordered_json plan_json(const Plan &plan);
// Returns the notes on what the plan takes for granted about its tasks.
std::vector<std::string> notes_on_tasks(const Plan &plan);
// Returns a message for each task that fits no partition.
std::vector<std::string> impossible_texts(const Plan &plan);

} // namespace tool::plan
