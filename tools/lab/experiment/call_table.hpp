// SPDX-License-Identifier: GPL-2.0
// Which calls of CUDA's driver API hold up whom, as section 3.5.1 of N. Otterness' thesis ("Developing Real-Time GPU-Sharing
// Platforms for Artificial-Intelligence Applications", UNC 2022) probes it: a long kernel runs; a thread makes the call;
// another thread launches a kernel in a stream of its own meanwhile.
#pragma once
#include "lab/experiment/judge.hpp"
#include "gpulens/out/table.hpp"

namespace tool::experiment {

constexpr char PITFALLS[] = "pitfalls"; // name of the experiment

// Decisions. Shares of the time that the long kernel still runs: a call that took less did not wait for it, from the second on it
// did.
constexpr double LONG_MS = 100, CALL_AT_MS = 20, LAUNCH_AT_MS = 40;
constexpr double NOT_WAITED = 0.25, WAITED = 0.75;

enum class Held { No, Yes, Unknown };

struct CallProbe {
	const char *call, *runtime; // "cuMemFree", "cudaFree"
	const char *thesis;         // what the thesis saw; empty: nothing about this call
	// As the thesis saw it: the caller, launches of other threads, kernels of other streams.
	bool caller, launches, kernels;
};
// Those of the table: the first is no call, then seven.
const std::vector<CallProbe> &call_probes();

// Times in ms, of one probe.
struct CallTimes {
	double alone = 0;   // the call while nothing runs
	double call = 0;    // the call, CALL_AT_MS after the launch of the long kernel
	double launch = 0;  // the launch by another thread, LAUNCH_AT_MS after it
	double call_at = 0; // when they really began
	double launch_at = 0;
	double kernel_at = 0; // when that kernel began, after the begin of the long one, by the GPU's clock
	double long_ms = 0;   // length of the long kernel
};

struct CallTable {
	std::string experiment = PITFALLS, gpu{};
	bool simulated = false;
	std::string without{};
	std::vector<CallTimes> rows{}; // of call_probes()
};

struct CallVerdict {
	Held caller = Held::Unknown, launches = Held::Unknown, kernels = Held::Unknown;
	std::string text; // "other threads' launches"
};
CallVerdict judge_call(const CallTimes &times);
Verdict judge_calls(const CallTable &table);

std::string calls_text(const CallTable &table, const Verdict &verdict, const Style &style);
nlohmann::ordered_json calls_json(const CallTable &table, const Verdict &verdict);

// Measures CUDA's device 0. Throws Error.
CallTable measure_calls();
// A GPU and driver as the thesis saw them. without: "P3.4": freeing memory holds up nobody.
CallTable simulate_calls(const std::string &without);

} // namespace tool::experiment
