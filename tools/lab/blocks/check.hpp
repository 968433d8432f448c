// SPDX-License-Identifier: GPL-2.0
// Checks a log against the rules A to D of Otterness (section 3.4.2), R2 and R4 of RTAS'24, and what RTAS'23 says of masks,
// priorities and task slots, and N1 and N2 of RTSS'17 (T. Amert et al., "GPU Scheduling on the NVIDIA TX2: Hidden Details
// Revealed") on the NULL stream, and C1 to C4 on copies, as far as a log can show a violation. docs/blocks.md describes the
// check of each rule.
//
// Times have errors: a block is dispatched some time before its first instruction reads the clock, and launches are
// timed by the CPU's clock. Two events therefore have an order only if they are further apart than the tolerance (and,
// for a launch and a block, the clocks' uncertainty). The same holds for two kernels that enter the primary queue.
#pragma once
#include "gpulens/blocks/log.hpp"

namespace tool::blocks {

// Decisions. The tolerance covers Otterness' own log, in which a block ends 13.7 us after the host saw its stream end
// (Figure 3.8: 1.590273405 and 1.590259712 s). IDLE_NS is how long a kernel may wait although it could run; it is less
// than the time slice of another process, about 2 ms, so that such a wait is reported.
constexpr u64 DEFAULT_TOLERANCE_NS = 50'000;
constexpr s64 IDLE_NS = 1'000'000;

struct Violation {
	std::string rule;   // "A", "B", "C", "D", "B2", "R2", "S", "M", "P", "N1", "N2", "C1" to "C4", "R4"
	std::string kernel; // whose block starts too early or too late
	std::optional<u32> block{}, sm{};
	s64 at = 0;       // time, ns
	std::string text; // for the user; also names the other kernel
};

struct Verdict {
	u64 tolerance_ns = 0;
	bool order_checked = true;         // B and C; false with more streams than channels, or without launch times
	std::vector<Violation> violations; // by process; those of M, P, N1, N2, C1 to C4 and R4 are last
	std::vector<std::string> notes;    // checks that were skipped, and delays that R2 explains
};

// allowed: by SM, whether kernels may use it; empty: all. A kernel need not start on another SM where it would fit.
Verdict check(const Log &log, u64 tolerance_ns, const std::vector<bool> &allowed = {});
std::string verdict_text(const Log &log, const Verdict &verdict);
nlohmann::ordered_json verdict_json(const Verdict &verdict);

} // namespace tool::blocks
