// SPDX-License-Identifier: GPL-2.0
// gpulens-lab experiment: repeats the experiments of RTAS'24, RTAS'23 and Otterness' thesis. docs/experiments.md describes each.
#pragma once
#include "lab/experiment/bench.hpp"
#include "lab/experiment/trace.hpp"
#include "gpulens/out/output.hpp"

#include <string>
#include <vector>

namespace tool::experiment {

struct ExperimentOptions {
	std::vector<std::string> names; // of experiment_names()
	bool all = false, list = false, simulate = false;
	std::string without{};        // the rule that the simulated GPU breaks
	u32 processes = 2;            // fig6, fig7
	u64 chunk_bytes = COPY_CHUNK; // fig7 to fig9
	u64 run_ns = 0;       // time in which all tasks run, of a trace or a round of sharing; 0: as --help says
	TableOptions table{}; // of tables()
	std::string folder{}; // for pictures, JSON and CSV; empty: none
};

// Returns the names of all experiments.
std::vector<std::string> experiment_names();
// The command. Returns an exit status: EXIT_DONE if every rule was seen, EXIT_PART if one was not, EXIT_REFUSED if an experiment
// failed, EXIT_UNKNOWN if one cannot be told. Throws Error.
int experiment_command(const Options &options, const ExperimentOptions &experiment_options);

} // namespace tool::experiment
