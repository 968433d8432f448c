// SPDX-License-Identifier: GPL-2.0
// gpulens sweep: measures the time of a program, or of kernels of the probe program, by the number of TPCs that it is limited
// to. Its CSV is the input of gpulens fit.
#pragma once
#include "gpulens/out/output.hpp"
#include "lib/tpc/place.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::measure {

struct SweepOptions {
	std::vector<std::string> program; // and its arguments; empty: the scenario is measured
	std::string scenario;             // matrix-copy, a built-in scenario of probe-kernels, or a file
	std::string probe;                // path of the probe program; empty: the installed one
	std::string name;                 // of the task, in CSV; empty: the program's file name
	std::string sizes;                // "1-8,16" or "all"; empty: powers of two, and the whole GPU
	plan::Placing placing = plan::Placing::Packed;
	u32 repeat = 3;      // runs of each size; with within: at most
	double within = 0;   // share of the mean: enough runs that its 95 % interval is so narrow; 0: `repeat` runs
	bool on_mps = false; // programs and neighbours are under an MPS of their own
	std::vector<std::string> beside; // neighbours to measure beside, on all other TPCs; on_mps only
	bool resume = false;             // continue from FILE.partial
	std::string pattern;             // extended regular expression with one group, a time that the program prints;
					 // empty: the program's time from start to end
	double unit_us = 1;              // of such a time
	std::string file;                // CSV is written to; empty: standard output
};

struct Sample {
	std::string task;
	u32 tpcs = 0, run = 0;       // run: from 1
	std::string beside = "none"; // kind of neighbour
	double us = 0;
};

// Returns whether fit takes the name: printable ASCII without blanks and commas.
bool is_task_name(const std::string &name);
// Returns the times that match in the output, in us. Throws Error (Input) for an invalid expression, Error (Failed) for none or one
// that is not above 0.
std::vector<double> find_times(const std::string &output, const std::string &pattern, double unit_us);
// Returns the sizes in ascending order. Throws Error: Input, or Absent for more TPCs than there are.
std::vector<u32> parse_sizes(const std::string &text, u32 tpcs);

// The command. Returns an exit status. Throws Error.
int sweep_command(const Options &options, const SweepOptions &sweep_options);

} // namespace tool::measure
