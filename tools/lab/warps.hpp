// SPDX-License-Identifier: GPL-2.0
// Simulates the warp scheduler of one SM: loose round robin (LRR), greedy then oldest (GTO), and RT-PAWS of J. Singh, "Toward
// Predictable Execution of Real-Time Workloads on Modern GPUs" (MS thesis, University of Illinois, 2021), chapter 4. No GPU that
// is sold lets a program choose its warp scheduler.
//
// The model: each warp executes the same instructions in order, and each cycle one warp issues one. A warp is ready again so
// many cycles after an instruction as that one's latency says, 1 being the next cycle. A kernel is finished in the cycle in
// which its last instruction is issued. The first cycle is 0.
//
// RT-PAWS orders warps of two priorities as groups. The leading group, first in GTO order, keeps the lead until the head
// of the order has stalled as often as the group's priority (its budget) says. Three things are not fixed by the printed
// Algorithms 4 and 5, and are chosen here so that Figure 4.1's means come out, with latencies 3, 1, 1, 7, 1, 1 and
// priorities 1 and 2:
//   - the group of higher priority leads in the first cycle with both;
//   - the order of the last cycle (Q_prev) is kept only where its first warp did not issue (Algorithm 4, line 14, which is
//     inside the loop);
//   - the budget falls at every stall of the head. Line 18 lets it fall only if the leading group issued; then K1 finishes
//     in cycle 29 and K2 in 18, whose mean is 23.5 and not the 22.5 of the text. `Budget::Printed` is that.
#pragma once
#include "gpulens/gpu.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tool {

struct WarpKernel {
	std::string name;
	u32 warps = 0, priority = 0;
	u32 start = 0; // cycle
};

enum class WarpPolicy { Lrr, Gto, RtPaws };
enum class Budget { EveryStall, Printed };

constexpr u32 MAX_WARPS = 64; // of all kernels; an SM of NVIDIA's has no more
constexpr u32 MAX_INSTRUCTIONS = 100, MAX_LATENCY = 1000;

struct WarpRun {
	WarpPolicy policy = WarpPolicy::Lrr;
	std::vector<u64> finished; // by kernel
	std::vector<std::optional<u32>>
		issued; // by cycle: the warp, numbered in the order of kernels; nothing: none was ready
};

// Figure 4.1's kernels and instructions.
std::vector<WarpKernel> default_warp_kernels();
std::vector<u32> default_latencies();
// Parses words NAME:WARPS:PRIORITY[:START]. Throws Error (Input), which names the wrong word; also for more than MAX_WARPS
// warps, or more than two priorities.
std::vector<WarpKernel> parse_warp_kernels(const std::vector<std::string> &words);
// Parses "3,1,1,7". Throws Error (Input).
std::vector<u32> parse_latencies(const std::string &text);

WarpRun simulate_warps(const std::vector<WarpKernel> &kernels, const std::vector<u32> &latencies, WarpPolicy policy,
		       Budget budget = Budget::EveryStall);

// Of runs by all policies.
std::string warps_text(const std::vector<WarpKernel> &kernels, const std::vector<WarpRun> &runs);
nlohmann::ordered_json warps_json(const std::vector<WarpKernel> &kernels, const std::vector<u32> &latencies,
				  const std::vector<WarpRun> &runs);

} // namespace tool
