// SPDX-License-Identifier: GPL-2.0
// Two programs on one GPU, in the ways of docs/choose.md: one has a request each PERIOD_MS, the other one trains, that is, has work
// without end. The requests of gpulens-schedule-load are kernels of REQUEST_MS, and its training kernels of TRAIN_MS; or both are of
// PyTorch.
#pragma once
#include "lab/experiment/bench.hpp"
#include "lab/experiment/judge.hpp"
#include "gpulens/out/table.hpp"

#include <optional>
#include <string>
#include <vector>

namespace tool::experiment {

constexpr char SHARING[] = "sharing"; // name of the experiment
constexpr unsigned REQUEST_MS = 4, PERIOD_MS = 20, TRAIN_MS = 2, ROUNDS = 3;

// How the two programs are started. TPCs: of thirds of the GPU; 0: all.
struct Way {
	const char *name;
	std::vector<std::string> serve{}, train{};  // options of gpulens run; none: without it
	std::vector<std::string> train_variables{}; // NAME=VALUE
	unsigned serve_thirds = 0, train_thirds = 0;
	bool policy = false; // of gpulens schedule: requests come first, and serving announces them
};
// The first two are each program alone, and both without gpulens.
const std::vector<Way> &ways();

struct Round {
	std::vector<double> ms; // of each request, from its launch to its end
	double train_rate = 0;  // kernels, or steps, a second
	// Of the time, in which each had the graphics engine, by context switches; nothing: unknown, as under MPS.
	std::optional<double> serve_gpu{}, train_gpu{};
};

struct SharingTable {
	std::string experiment = SHARING, gpu{}, job{};
	bool simulated = false;
	std::string without{};                    // "slices" or empty
	std::vector<std::vector<Round>> rounds{}; // of each of ways()
	std::vector<std::string> missing{};       // why a way could not be measured; empty: it was
};

constexpr char SERVE_TASK[] = "sharing-serve", TRAIN_TASK[] = "sharing-train"; // of the policy
std::string kernel_job();           // "4 ms each 20 ms beside kernels of 2 ms"
extern const char SHARING_SCRIPT[]; // in Python, the two programs in PyTorch
// Measures CUDA's device 0, so long in each round. Throws Error.
SharingTable measure_sharing(u64 run_ns, Job job);
// Turns by time slices and a third of the TPCs, as rules predict them; of MPS without masks no rule is known. without: "slices":
// slices have no effect.
SharingTable simulate_sharing(const std::string &without);

Verdict judge_sharing(const SharingTable &table);
std::string sharing_text(const SharingTable &table, const Verdict &verdict, const Style &style);
nlohmann::ordered_json sharing_json(const SharingTable &table, const Verdict &verdict);
// A line for each request: experiment,way,round,ms.
std::string sharing_csv(const SharingTable &table);
std::string sharing_svg(const SharingTable &table, const Verdict &verdict);

} // namespace tool::experiment
