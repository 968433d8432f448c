// SPDX-License-Identifier: GPL-2.0
// gpulens verify: collects the evidence that a program stays on the TPCs that it is limited to, and measures how much neighbours
// on the other TPCs slow it down. docs/partition.md says what each piece of evidence shows and does not show.
#pragma once
#include "gpulens/blocks/within.hpp"
#include "gpulens/cmd/partitions.hpp"
#include "gpulens/cmd/tpc_limit.hpp"
#include "gpulens/limit/cuda_probe.hpp"
#include "gpulens/out/output.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::measure {

struct VerifyOptions {
	std::vector<std::string> program; // and its arguments; empty: the process pid
	u32 pid = 0;
	Limit limit;                           // of the program
	std::string probe;                     // path of the probe program; empty: the installed one
	std::vector<std::string> neighbours{}; // names of NEIGHBOURS
	u32 repeat = 3;                        // timed runs alone, and beside each neighbour
	double max_slowdown = 1.1;
	bool mps = false; // under MPS, with a daemon as of gpulens run --mps
	std::string file; // .svg to write; empty: none
};

enum class Finding { Held, Violated, Unknown };
const char *finding_name(Finding finding); // "held", "violated", "unknown"

struct Evidence {
	std::string name; // "mask", "acknowledgement", "probe", "others", "overlap" (under MPS)
	Finding finding = Finding::Unknown;
	std::string text; // what was seen
};

struct Slowdown {
	std::string neighbour;          // empty: alone
	std::vector<double> times_us{}; // of the runs
	std::optional<double> factor{}; // median beside it / median alone
	std::optional<double>
		neighbour_share{}; // of the time beside it in which it had the graphics engine; nothing: unknown
	std::string unknown{};     // why there is no factor
};

struct Report {
	std::string subject; // program, or "process 123 (name)"
	std::string gpu;
	u32 sms = 0;                  // of the GPU
	gpulens::VerifiedLimit limit; // of the subject
	blocks::Log log;              // of the probe under this limit
	blocks::Within within;
	std::string timed; // what the times are of
	std::vector<Evidence> evidence;
	std::vector<Slowdown> slowdowns; // the first is alone
	double max_slowdown = 0;
	std::vector<std::string> notes;
	Finding verdict = Finding::Unknown;
	std::string sentence;
};

// Judges what a program's processes publish.
Evidence judge_acknowledgement(const std::vector<PublishedPartition> &pages, const gpulens::VerifiedLimit &limit);
// Sets verdict and sentence: violated if any evidence is, or a slow-down is above max_slowdown; else unknown if any is; else held.
void conclude(Report &report);

std::string report_text(const Report &report, const Style &style);
nlohmann::ordered_json report_json(const Report &report);
std::string report_svg(const Report &report);

// The command. Returns EXIT_DONE (held), EXIT_PART (violated), EXIT_UNKNOWN or another exit status. Throws Error.
int verify_command(const Options &options, const VerifyOptions &verify_options);

} // namespace tool::measure
